import { BASICS } from './basics.js';
import { CALENDAR } from './calendar.js';
import { RECORD } from './record.js';
import { RING } from './ring.js';
import { RUNNING } from './running.js';

/** A settlement named other counters than its reservation has. */
export const OTHER_KEYS = 'SPILLWAY keys of another reservation';

/**
 * KEYS: sequence, record, record drawn on, then one for each item.
 * ARGV: now ('' for the server's), lease, kept, base of the sequence, 1 when something is drawn on, then for each item: kind,
 * window, amount, limit, refuseAt (-1: none), paced, and five starts of periods for a calendar.
 * Reply: 1 held, 0 full, 2 periods not of now; now; sequence; used of each item; index and wait of each that is full (-1: never).
 */
export const RESERVE = `${BASICS}${RING}${CALENDAR}${RUNNING}${RECORD}
local now = clock(ARGV[1])
local lease, kept = tonumber(ARGV[2]), tonumber(ARGV[3])
local prefix = #KEYS[1] - 1
local raws = call('MGET', KEYS[1], KEYS[2], KEYS[3])
local seq = tonumber(raws[1] or 0)
local from = ARGV[5] == '1' and recordOf(raws[3], now) or nil
if from == 'S' then from = nil end
local sources = {}
if from then for _, hold in ipairs(from.holds) do sources[hold.name] = hold end end

local asks, plain = {}, {}
local at = 6
for i = 4, #KEYS do
  local kind = ARGV[at]
  local ask = { key = KEYS[i], name = string.sub(KEYS[i], prefix + 1), kind = kind, window = ARGV[at + 1], amount = tonumber(ARGV[at + 2]),
    limit = tonumber(ARGV[at + 3]), refuseAt = tonumber(ARGV[at + 4]), paced = ARGV[at + 5] == '1', moved = 0 }
  if ask.refuseAt < 0 then
    ask.refuseAt = math.huge
    ask.paced = false
  end
  at = at + 6
  if kind == 'd' then
    ask.periods = periodsAt(at, now)
    if not ask.periods then return { 2, now } end
    at = at + 5
  end
  if kind ~= 'c' then plain[#plain + 1] = ask.key end
  asks[#asks + 1] = ask
end

local values = #plain > 0 and call('MGET', unpack(plain)) or {}
local nextValue = 0
local used, full = {}, {}
for i, ask in ipairs(asks) do
  local source = sources[ask.name]
  ask.source = source
  if ask.kind == 'c' then
    ask.used = Running.used(ask.key, now)
    if source and source.held > 0 and source.mark > now then ask.moved = min(ask.amount, source.held) end
  else
    nextValue = nextValue + 1
    local raw = values[nextValue]
    if ask.kind == 's' then
      ask.ring = Ring.load(raw, now, tonumber(ask.window))
      ask.used = Ring.used(ask.ring)
      if source and Ring.isOpen(ask.ring, source.era, source.mark) then ask.moved = min(ask.amount, source.held) end
    else
      ask.count = Count.load(raw, ask.periods)
      ask.used = Count.at(ask.count, ask.periods[2])
      if source and source.mark == ask.periods[2] then ask.moved = min(ask.amount, source.held) end
    end
  end
  ask.need = ask.amount - ask.moved
  used[i] = ask.used
end

local reply = { 1, now, seq }
if recordOf(raws[2], now) then
  for _, sum in ipairs(used) do reply[#reply + 1] = sum end
  return reply
end

for i, ask in ipairs(asks) do
  local wait = -1
  if ask.need > 0 then
    if ask.amount > ask.refuseAt then wait = -2
    elseif ask.ring then wait = Ring.wait(ask.ring, now, ask)
    elseif ask.count then wait = Count.wait(ask.count, now, ask)
    elseif ask.used + ask.need > ask.refuseAt then wait = 0 end
  end
  if wait ~= -1 then
    full[#full + 1] = i - 1
    full[#full + 1] = wait == -2 and -1 or wait
  end
end
if #full > 0 then
  reply[1] = 0
  for _, sum in ipairs(used) do reply[#reply + 1] = sum end
  for _, value in ipairs(full) do reply[#reply + 1] = value end
  return reply
end

reply[3] = nextSeq(ARGV[4])
local id = string.sub(KEYS[2], prefix + 3)
local fromId = string.sub(KEYS[3], prefix + 3)
local record, n = { lease, kept, now + lease + kept }, 3
for i, ask in ipairs(asks) do
  local mark, era, pace = 0, 0, 0
  local source, moved = ask.source, ask.moved
  if ask.kind == 's' then
    local ring = ask.ring
    if moved > 0 then
      Ring.refund(ring, source.mark, moved)
      pace = takePace(source, moved)
      source.held = source.held - moved
    end
    mark = Ring.charge(ring, ring.slot, ask.amount)
    era = ring.era
    if ask.amount > moved and ask.paced then
      local step = ring.ms / 0.95 * min(1, (ask.amount - moved) / ask.limit)
      ring.paced = max(now, ring.paced) + step
      pace = pace + step
    end
    Ring.save(ask.key, ring, now)
    used[i] = Ring.used(ring)
  elseif ask.kind == 'd' then
    if moved > 0 then
      Count.add(ask.count, source.mark, -moved)
      source.held = source.held - moved
    end
    mark = ask.periods[2]
    Count.add(ask.count, mark, ask.amount)
    Count.save(ask.key, ask.count, now)
    used[i] = Count.at(ask.count, mark)
  else
    if moved > 0 then
      call('ZREM', ask.key, Running.member(source.held, fromId))
      source.held = source.held - moved
      if source.held > 0 then Running.add(ask.key, fromId, source.held, source.mark, now) end
    end
    mark = now + lease
    Running.add(ask.key, id, ask.amount, mark, now)
    used[i] = Running.used(ask.key, now)
  end
  record[n + 1], record[n + 2], record[n + 3], record[n + 4] = ask.name, ask.kind, ask.window, ask.amount
  record[n + 5], record[n + 6], record[n + 7] = mark, era, pace
  n = n + 7
end
if from then saveRecord(KEYS[3], from, now) end
call('SET', KEYS[2], pack(record), 'PX', format('%.0f', max(1, lease + kept)))
for _, sum in ipairs(used) do reply[#reply + 1] = sum end
return reply
`;

/**
 * KEYS: sequence, record, then one for each item in the record's order. ARGV: now, how long to remember, base of the sequence,
 * amount of each item, then five starts of periods for each calendar among them.
 * Reply: 1 settled, 0 it was not held, 2 periods not of now; now; sequence.
 */
export const SETTLE = `${BASICS}${RING}${CALENDAR}${RUNNING}${RECORD}
local now = clock(ARGV[1])
local raws = call('MGET', KEYS[1], KEYS[2])
if raws[2] == 'S' then return { 0, now, tonumber(raws[1] or 0) } end
local record = raws[2] and unpack_(raws[2])
if not record or now >= record[3] then
  local seq = nextSeq(ARGV[3])
  call('SET', KEYS[2], 'S', 'PX', ARGV[2])
  return { 0, now, seq }
end
local count = #KEYS - 2
if #record ~= 3 + 7 * count then return redis.error_reply('${OTHER_KEYS}') end

-- What of the record is looked at: kind, window, held, mark, era and pace of an item begin after its name.
local at = 4 + count
local plain, calendars = {}, {}
for i = 1, count do
  local kind = record[7 * i - 2]
  if kind == 'd' then
    calendars[i] = periodsAt(at, now)
    if not calendars[i] then return { 2, now } end
    at = at + 5
  end
  if kind ~= 'c' then plain[#plain + 1] = KEYS[i + 2] end
end
local values = #plain > 0 and call('MGET', unpack(plain)) or {}
local nextValue = 0
local seq = nextSeq(ARGV[3])
local id = sub(KEYS[2], #KEYS[1] + 2)
for i = 1, count do
  local key, amount, field = KEYS[i + 2], tonumber(ARGV[i + 3]), 7 * i - 2
  local kind, held, mark = record[field], record[field + 2], record[field + 3]
  if kind == 'c' then
    call('ZREM', key, Running.member(held, id))
  else
    nextValue = nextValue + 1
    local raw = values[nextValue]
    if kind == 's' then
      if amount ~= held then
        local ring = Ring.load(raw, now, tonumber(record[field + 1]))
        local isOpen = Ring.isOpen(ring, record[field + 4], mark)
        if amount > held then
          if isOpen then Ring.chargeLate(ring, mark, amount - held) else Ring.charge(ring, ring.slot, amount - held) end
          Ring.save(key, ring, now)
        elseif isOpen then
          local pace = record[field + 5]
          Ring.refund(ring, mark, held - amount)
          if pace ~= 0 then ring.paced = ring.paced - pace * min(1, (held - amount) / held) end
          Ring.save(key, ring, now)
        end
      end
    else
      local counted = Count.load(raw, calendars[i])
      local isOpen = mark >= calendars[i][1]
      if amount > held or isOpen then
        Count.add(counted, isOpen and mark or calendars[i][2], amount - held)
        Count.save(key, counted, now)
      end
    end
  end
end
call('SET', KEYS[2], 'S', 'PX', ARGV[2])
return { 1, now, seq }
`;
