import { BASICS } from './basics.js';
import { CALENDAR } from './calendar.js';
import { RECORD } from './record.js';
import { RING } from './ring.js';
import { RUNNING } from './running.js';

/** A settlement named other counters than its reservation has. */
export const OTHER_KEYS = 'SPILLWAY keys of another reservation';

/**
 * Reservations and settlements, one after the other, as if each had come alone at the same instant. What several of them count is read
 * and written once; one that fails leaves the others as they are.
 *
 * KEYS: sequence, records, counters of windows, counters of what is running. ARGV: now ('' for the server's), base of the sequence, and a
 * JSON list: numbers of records, windows and calendars; for each calendar its name and five starts of periods; the window of each
 * counter (milliseconds, or minus the number of its calendar); then the decisions.
 * - reserve: 0, record, record drawn on (0: none), lease, kept, number of items, then for each item: counter (minus the number of one of
 *   what is running), amount, refuseAt (-1: none), limit that it is paced by (0: not paced).
 * - settle: 1, record, how long to remember, number of items, then counter and amount of each in the record's order.
 *
 * Reply: 1, or 2 when the periods are not of now; now; then for each decision its error or a list: 1 held or settled, 0 full or not held;
 * sequence; of a reservation what each item's counter holds, then index and wait of each that is full (-1: never).
 */
export const DECIDE = `${BASICS}${RING}${CALENDAR}${RUNNING}${RECORD}
local now = clock(ARGV[1])
local base = ARGV[2]
local d = cjson.decode(ARGV[3])
local prefix = #KEYS[1] - 1
local records, counters, windows = d[1], {}, d[2]
local at = 4
local calendars = {}
for i = 1, d[3] do
  local periods = { d[at + 1], d[at + 2], d[at + 3], d[at + 4], d[at + 5] }
  if now < periods[2] or now >= periods[3] then return { 2, now } end
  calendars[i] = { name = d[at], periods = periods }
  at = at + 6
end
local values = call('MGET', unpack(KEYS, 1, 1 + records + windows))
local seq = tonumber(values[1] or 0)
for i = 1, windows do
  local place = 1 + records + i
  local window, calendar = d[at], nil
  at = at + 1
  if window < 0 then calendar = calendars[-window] end
  counters[i] = { key = KEYS[place], name = sub(KEYS[place], prefix + 1), raw = values[place], ms = window, calendar = calendar }
end
for i = 2 + records + windows, #KEYS do
  counters[1 + records + windows - i] = { key = KEYS[i], name = sub(KEYS[i], prefix + 1), isRunning = true }
end
local written = {}

local function open(counter)
  if counter.calendar then counter.state = Count.load(counter.raw, counter.calendar.periods)
  else counter.state = Ring.load(counter.raw, now, counter.ms) end
end

local function usedOf(counter)
  local used
  if counter.isRunning then used = Running.used(counter.key, now)
  else
    if not counter.state then open(counter) end
    if counter.calendar then used = Count.at(counter.state, counter.calendar.periods[2]) else used = Ring.used(counter.state) end
  end
  counter.used = used
  return used
end

local function find(i)
  local record = written[i]
  if record then return type(record) == 'table' and record or 'S' end
  return recordOf(values[1 + i], now)
end

-- The first change writes before anything else is written: where that may not be, nothing is.
local denied
local hasChanged, ahead = false, 0
local function change()
  if hasChanged then
    ahead = ahead + 1
    seq = seq + 1
    return
  end
  local answer = redis.pcall('INCR', KEYS[1])
  if type(answer) == 'table' then
    denied = answer
    error(answer.err)
  end
  if answer == 1 then
    answer = tonumber(base) + 1
    call('SET', KEYS[1], format('%.0f', answer))
  end
  seq = answer
  hasChanged = true
end

-- What of an item of one reservation another may draw.
local function drawable(counter, from, i)
  local n = from[4]
  local held, mark = from[3 + 3 * i], from[4 + 3 * i]
  if counter.isRunning then return mark > now and held or 0 end
  if counter.calendar then return mark == counter.calendar.periods[2] and held or 0 end
  return Ring.isOpen(counter.state, from[4 + 3 * n + i] or 0, mark) and held or 0
end

local function takePace(record, i, amount)
  local n = record[4]
  local held, pace = record[3 + 3 * i], record[4 + 4 * n + i] or 0
  if pace == 0 or held == 0 then return 0 end
  local ms = pace * min(1, amount / held)
  record[4 + 4 * n + i] = pace - ms
  return ms
end

-- Index and wait of each item that does not fit, behind what the reply has already.
local function refuse(reply, at, n, from, sources, moves)
  local full = 2 + n
  for i = 1, n do
    local amount, refuseAt, used, moved = d[at + 1], d[at + 2], reply[2 + i], moves and moves[i] or 0
    local need = amount - moved
    if refuseAt >= 0 and need > 0 and (used + need > refuseAt or amount > refuseAt or d[at + 3] > 0) then
      local wait = -1
      local counter = counters[d[at]]
      if amount > refuseAt then wait = -2
      elseif counter.isRunning then
        if used + need > refuseAt then wait = 0 end
      else
        local ask = { used = used, need = need, moved = moved, amount = amount, refuseAt = refuseAt, paced = d[at + 3] > 0,
          mark = moved > 0 and from[4 + 3 * sources[counter.name]] or 0 }
        wait = (counter.calendar and Count or Ring).wait(counter.state, now, ask)
      end
      if wait ~= -1 then
        reply[full + 1], reply[full + 2] = i - 1, wait == -2 and -1 or wait
        full = full + 2
      end
    end
    at = at + 4
  end
  return full > 2 + n
end

local function reserve(at)
  local recordAt, fromAt, lease, kept, n = d[at], d[at + 1], d[at + 2], d[at + 3], d[at + 4]
  local first = at + 5
  local from, sources, moves = fromAt > 0 and find(fromAt), nil, nil
  if from and from ~= 'S' then
    sources, moves = {}, {}
    for i = 1, from[4] do sources[from[2 + 3 * i]] = i end
  end

  local reply, isTight = { 1, seq }, moves
  at = first
  for i = 1, n do
    local counter = counters[d[at]]
    local used, amount, refuseAt = counter.used or usedOf(counter), d[at + 1], d[at + 2]
    if sources then
      local source = sources[counter.name]
      if source then moves[i] = min(amount, drawable(counter, from, source)) end
    end
    if refuseAt >= 0 and (used + amount > refuseAt or d[at + 3] > 0) then isTight = true end
    reply[2 + i] = used
    at = at + 4
  end
  if find(recordAt) then return reply end
  if isTight and refuse(reply, first, n, from, sources, moves) then
    reply[1] = 0
    return reply
  end

  change()
  reply[2] = seq
  local id = sub(KEYS[1 + recordAt], prefix + 3)
  local record, paces = { lease, kept, now + lease + kept, n }, nil
  at = first
  for i = 1, n do
    local counter, amount, moved = counters[d[at]], d[at + 1], moves and moves[i] or 0
    local state, source = counter.state, moved > 0 and sources[counter.name]
    local heldAt = source and 3 + 3 * source
    local mark
    if counter.isRunning then
      mark = now + lease
      if source then
        local fromId, held = sub(KEYS[1 + fromAt], prefix + 3), from[heldAt]
        call('ZREM', counter.key, Running.member(held, fromId))
        if held > moved then Running.add(counter.key, fromId, held - moved, from[heldAt + 1], now) end
      end
      Running.add(counter.key, id, amount, mark, now)
      counter.used = counter.used - moved + (lease > 0 and amount or 0)
    elseif counter.calendar then
      mark = counter.calendar.periods[2]
      if source then Count.add(state, mark, -moved) end
      Count.add(state, mark, amount)
      counter.used, counter.isChanged = Count.at(state, mark), true
    else
      local pace = 0
      if source then
        Ring.refund(state, from[heldAt + 1], moved)
        pace = takePace(from, source, moved)
        counter.used = nil
      end
      if state.head == state.slot then
        mark, state.amount = state.head, state.amount + amount
      else
        mark = Ring.charge(state, state.slot, amount)
      end
      if amount > moved and d[at + 3] > 0 then
        local step = state.ms / 0.95 * min(1, (amount - moved) / d[at + 3])
        state.paced = max(now, state.paced) + step
        pace = pace + step
      end
      if state.era ~= 0 or pace ~= 0 then
        paces = paces or {}
        paces[i] = pace
      end
      counter.used, counter.isChanged = counter.used and counter.used + amount or Ring.used(state), true
    end
    if source then from[heldAt] = from[heldAt] - moved end
    record[2 + 3 * i], record[3 + 3 * i], record[4 + 3 * i] = counter.name, amount, mark
    reply[2 + i] = counter.used
    at = at + 4
  end
  if paces then
    for i, pace in pairs(paces) do setEraAndPace(record, i, counters[d[first + 4 * i - 4]].state.era, pace) end
  end
  if moves then written[fromAt] = from end
  written[recordAt] = record
  return reply
end

local function settle(at)
  local recordAt, keep, n = d[at], d[at + 1], d[at + 2]
  local record = find(recordAt)
  if record == 'S' then return { 0, seq } end
  if not record then
    change()
    written[recordAt] = keep
    return { 0, seq }
  end
  if record[4] ~= n then return '${OTHER_KEYS}' end
  for i = 1, n do
    local counter = counters[d[at + 1 + 2 * i]]
    if counter.name ~= record[2 + 3 * i] then return '${OTHER_KEYS}' end
    if not counter.state and not counter.isRunning then open(counter) end
  end

  change()
  for i = 1, n do
    local counter, amount = counters[d[at + 1 + 2 * i]], d[at + 2 + 2 * i]
    local held, mark, state = record[3 + 3 * i], record[4 + 3 * i], counter.state
    if counter.isRunning then
      call('ZREM', counter.key, Running.member(held, sub(KEYS[1 + recordAt], prefix + 3)))
      counter.used = nil
    elseif counter.calendar then
      local periods = counter.calendar.periods
      local isOpen = mark >= periods[1]
      if amount > held or isOpen then
        Count.add(state, isOpen and mark or periods[2], amount - held)
        counter.used, counter.isChanged = nil, true
      end
    elseif amount ~= held then
      local isOpen = Ring.isOpen(state, record[4 + 3 * n + i] or 0, mark)
      if amount > held then
        if isOpen then Ring.chargeLate(state, mark, amount - held) else Ring.charge(state, state.slot, amount - held) end
        counter.used, counter.isChanged = nil, true
      elseif isOpen then
        Ring.refund(state, mark, held - amount)
        local pace = record[4 + 4 * n + i] or 0
        if pace ~= 0 then state.paced = state.paced - pace * min(1, (held - amount) / held) end
        counter.used, counter.isChanged = nil, true
      end
    end
  end
  written[recordAt] = keep
  return { 1, seq }
end

local reply = { 1, now }
while at <= #d do
  local isReserve = d[at] == 0
  local isDone, result = pcall(isReserve and reserve or settle, at + 1)
  if denied then return denied end
  if not isDone then result = type(result) == 'table' and result.err or tostring(result) end
  reply[#reply + 1] = result
  at = at + (isReserve and 6 + 4 * d[at + 5] or 4 + 2 * d[at + 3])
end
if ahead > 0 then call('INCRBY', KEYS[1], ahead) end
for i = 1, windows do
  local counter = counters[i]
  if counter.isChanged then (counter.calendar and Count or Ring).save(counter.key, counter.state, now) end
end
for i, record in pairs(written) do
  if type(record) == 'number' then call('SET', KEYS[1 + i], 'S', 'PX', format('%.0f', record))
  else saveRecord(KEYS[1 + i], record, now) end
end
return reply
`;
