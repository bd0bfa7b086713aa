import { createHash } from 'node:crypto';

/** A script for Redis, and the name by which Redis knows it once it was sent. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/**
 * What all scripts have in common. The arithmetic is that of the memory store, line by line, so that both give equal answers to
 * equal commands; Lua's numbers are the same doubles.
 *
 * A sliding window is a packed string: bytes of an older slot's amount, era, pacedUntilMs, head slot, its amount, sum of the older slots;
 * then each of these, oldest first, as last byte of the slot and amount. A decision reads and writes the head alone.
 *
 * The other values are MessagePack: whole numbers exact to 2^53, small ones small.
 * - a calendar: period, used, previous period, previous used
 * - what is running: a sorted set of `amount|id` by the end of the lease; `+` is in it when amounts other than 1 may be
 * - a reservation: lease, kept, forgetAtMs, then for each item name, kind, window, held, mark, era, paceMs; `S` once it is settled
 */
const COMMON = `
local SLOTS = 60
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local pack, unpack_ = cmsgpack.pack, cmsgpack.unpack
local call = redis.call
local format = string.format

local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = call('TIME')
  return time[1] * 1000 + floor(time[2] / 1000)
end

local function nextSeq(base)
  local seq = call('INCR', KEYS[1])
  if seq == 1 then
    seq = tonumber(base) + 1
    call('SET', KEYS[1], format('%.0f', seq))
  end
  return seq
end

-- The caller means counts of one epoch. When these are of another: their sequence.
local function seqOfOther(raw, epoch, base)
  local seq = raw and tonumber(raw) or nextSeq(base)
  if floor(seq / 4294967296) ~= tonumber(epoch) then return seq end
end

local function slotAt(now, ms) return floor(now * SLOTS / ms) end
local function leavesAt(slot, ms) return ceil((slot + SLOTS + 1) * ms / SLOTS) end

local byte, sub = string.byte, string.sub
local spack, sunpack = struct.pack, struct.unpack

-- A window as its string has it: the older slots stay packed, and are looked at one by one where they matter.
local HEADER = '<BI4dddd'
local TAIL = 38
local ENTRY = { [2] = '<BI2', [4] = '<BI4', [8] = '<Bd' }
local MOST = { [2] = 65535, [4] = 4294967295 }
local Ring = {}

function Ring.load(raw, now, ms)
  local slot = slotAt(now, ms)
  if not raw then
    return { ms = ms, slot = slot, width = 2, era = 0, paced = 0, head = slot, amount = 0, sum = 0, raw = '', at = 1 }
  end
  local width, era, paced, head, amount, sum = sunpack(HEADER, raw)
  if head - slot > 2 * SLOTS then
    return { ms = ms, slot = slot, width = 2, era = era + 1, paced = 0, head = slot, amount = amount + sum, sum = 0, raw = '', at = 1 }
  end
  return { ms = ms, slot = slot, width = width, era = era, paced = paced, head = head, amount = amount, sum = sum, raw = raw, at = TAIL,
    was = paced }
end

function Ring.save(key, ring, now)
  local px = max(leavesAt(ring.head, ring.ms) - now, ring.paced - now, 0) + 1000
  local value = spack(HEADER, ring.width, ring.era, ring.paced, ring.head, ring.amount, ring.sum)
  if ring.at == TAIL and ring.paced == ring.was then
    -- Nothing but the head has changed, and it ends when it did.
    call('SETRANGE', key, 0, value)
    return
  end
  if ring.at <= #ring.raw then value = value .. sub(ring.raw, ring.at) end
  call('SET', key, value, 'PX', format('%.0f', ceil(px)))
end

function Ring.first(ring) return max(ring.head, ring.slot) - SLOTS end

-- Slots older than the head are at most SLOTS behind it: their last byte tells them apart.
local function behind(ring, i) return (ring.head - byte(ring.raw, i)) % 256 end
local function amountAt(ring, i)
  local _, amount = sunpack(ENTRY[ring.width], ring.raw, i)
  return amount
end

-- Where the slots from first on begin, and what they hold.
local function inside(ring, first)
  local i, sum, most = ring.at, ring.sum, ring.head - first
  while i <= #ring.raw and behind(ring, i) > most do
    sum = sum - amountAt(ring, i)
    i = i + ring.width + 1
  end
  return i, sum
end

function Ring.used(ring)
  local first = Ring.first(ring)
  if ring.head < first then return 0 end
  local _, sum = inside(ring, first)
  return sum + ring.amount
end

-- Puts a slot where bytes from i to j - 1 are; without an amount it takes them out.
local function put(ring, i, j, slot, amount)
  if not amount then
    ring.raw, ring.at = sub(ring.raw, ring.at, i - 1) .. sub(ring.raw, j), 1
    return
  end
  if amount > (MOST[ring.width] or amount) then
    local width = amount > MOST[4] and 8 or 4
    local wide = {}
    for k = ring.at, #ring.raw, ring.width + 1 do
      wide[#wide + 1] = spack(ENTRY[width], byte(ring.raw, k), amountAt(ring, k))
    end
    local narrow = ring.width + 1
    i, j = (i - ring.at) / narrow * (width + 1) + 1, (j - ring.at) / narrow * (width + 1) + 1
    ring.raw, ring.at, ring.width = table.concat(wide), 1, width
  end
  ring.raw, ring.at = sub(ring.raw, ring.at, i - 1) .. spack(ENTRY[ring.width], slot % 256, amount) .. sub(ring.raw, j), 1
end

-- Where slot is, and where the next one begins; the same place twice when it is not there.
local function find(ring, slot)
  local step, distance = ring.width + 1, ring.head - slot
  local i = #ring.raw + 1
  while i > ring.at do
    local d = behind(ring, i - step)
    if d == distance then return i - step, i end
    if d > distance then return i, i end
    i = i - step
  end
  return i, i
end

function Ring.charge(ring, slot, amount)
  if slot > ring.head then
    local first = slot - SLOTS
    if ring.head < first then
      ring.raw, ring.at, ring.sum = '', 1, 0
    else
      ring.at, ring.sum = inside(ring, first)
      if ring.amount > 0 then
        local last = #ring.raw + 1
        ring.sum = ring.sum + ring.amount
        put(ring, last, last, ring.head, ring.amount)
      end
    end
    ring.head, ring.amount, ring.was = slot, 0, false
  end
  ring.amount = ring.amount + amount
  return ring.head
end

function Ring.chargeLate(ring, slot, amount)
  if slot >= ring.head then
    Ring.charge(ring, slot, amount)
    return
  end
  local i, j = find(ring, slot)
  ring.sum = ring.sum + amount
  put(ring, i, j, slot, (i < j and amountAt(ring, i) or 0) + amount)
end

function Ring.refund(ring, slot, amount)
  if slot == ring.head then
    ring.amount = ring.amount - min(amount, ring.amount)
    return
  end
  if slot > ring.head or slot < ring.head - SLOTS then return end
  local i, j = find(ring, slot)
  if i == j then return end
  local held = amountAt(ring, i)
  local taken = min(amount, held)
  ring.sum = ring.sum - taken
  put(ring, i, j, slot, taken < held and held - taken or nil)
end

function Ring.isOpen(ring, era, mark) return era == ring.era and mark >= Ring.first(ring) end

-- -1: it fits; -2: never.
function Ring.wait(ring, now, ask)
  local sum = ask.used + ask.need
  local wait = 0
  if sum > ask.refuseAt then
    wait = -2
    local first, moved, movedSlot = Ring.first(ring), ask.moved, ask.source and ask.source.mark or 0
    if ring.head >= first then
      for i = inside(ring, first), #ring.raw, ring.width + 1 do
        local slot = ring.head - behind(ring, i)
        sum = sum - (amountAt(ring, i) - (slot == movedSlot and moved or 0))
        if sum <= ask.refuseAt then
          wait = leavesAt(slot, ring.ms) - now
          break
        end
      end
    end
    if wait == -2 then
      if ring.head >= first then sum = sum - (ring.amount - (ring.head == movedSlot and moved or 0)) end
      if sum <= ask.refuseAt then wait = leavesAt(ring.head, ring.ms) - now end
    end
    if wait == -2 then return -2 end
  end
  if ask.paced then wait = max(wait, 0, ceil(ring.paced - now)) end
  return wait == 0 and -1 or wait
end

local function takePace(hold, amount)
  if hold.pace == 0 or hold.held == 0 then return 0 end
  local ms = hold.pace * min(1, amount / hold.held)
  hold.pace = hold.pace - ms
  return ms
end

local Count = {}

function Count.load(raw, periods)
  local count = { period = periods[2], used = 0, previous = false, previousUsed = 0, periods = periods }
  if raw then
    local v = unpack_(raw)
    count.period, count.used, count.previous, count.previousUsed = v[1], v[2], v[3], v[4]
  end
  return count
end

function Count.save(key, count, now)
  local px = max(count.periods[4], count.period) - now + 3600000
  call('SET', key, pack({ count.period, count.used, count.previous, count.previousUsed }), 'PX', format('%.0f', px))
end

function Count.at(count, period)
  if period == count.period then return count.used end
  return period == count.previous and count.previousUsed or 0
end

function Count.add(count, period, delta)
  if period > count.period then
    if delta <= 0 then return end
    count.previous, count.previousUsed, count.period, count.used = count.period, count.used, period, delta
  elseif period == count.period then
    count.used = max(0, count.used + delta)
  elseif period == count.previous then
    count.previousUsed = max(0, count.previousUsed + delta)
  elseif delta > 0 then
    count.previous, count.previousUsed = period, delta
  end
end

function Count.wait(count, now, ask)
  if Count.at(count, count.periods[2]) + ask.need <= ask.refuseAt then return -1 end
  local later = ask.need + ask.moved
  if later > ask.refuseAt or ask.amount > ask.refuseAt then return -2 end
  local i = 3
  while i < 5 and Count.at(count, count.periods[i]) + later > ask.refuseAt do i = i + 1 end
  return count.periods[i] - now
end

local Running = {}

function Running.used(key, now)
  local live = '(' .. format('%.0f', now)
  if not call('ZSCORE', key, '+') then return call('ZCOUNT', key, live, '+inf') end
  local sum = 0
  for _, member in ipairs(call('ZRANGEBYSCORE', key, live, '+inf')) do
    if member ~= '+' then sum = sum + tonumber(string.match(member, '^(%d+)|')) end
  end
  return sum
end

function Running.member(amount, id) return format('%.0f', amount) .. '|' .. id end

function Running.add(key, id, amount, endMs, now)
  call('ZREMRANGEBYSCORE', key, '-inf', format('%.0f', now))
  if amount == 0 or endMs <= now then return end
  call('ZADD', key, format('%.0f', endMs), Running.member(amount, id))
  if amount ~= 1 then call('ZADD', key, '+inf', '+') end
  local px = endMs - now + 1000
  if call('PTTL', key) < px then call('PEXPIRE', key, format('%.0f', px)) end
end

-- Periods of a calendar as the caller computed them: previous, current, and the starts of three later ones. Nil: it is not now.
local function periodsAt(at, now)
  local periods = {}
  for i = 1, 5 do periods[i] = tonumber(ARGV[at + i - 1]) end
  if now < periods[2] or now >= periods[3] then return nil end
  return periods
end

local function recordOf(raw, now)
  if not raw then return nil end
  if raw == 'S' then return 'S' end
  local v = unpack_(raw)
  if now >= v[3] then return nil end
  local record = { lease = v[1], kept = v[2], forgetAt = v[3], holds = {} }
  for i = 4, #v, 7 do
    record.holds[(i + 3) / 7] =
      { name = v[i], kind = v[i + 1], window = v[i + 2], held = v[i + 3], mark = v[i + 4], era = v[i + 5], pace = v[i + 6] }
  end
  return record
end

local function saveRecord(key, record, now)
  local v, n = { record.lease, record.kept, record.forgetAt }, 3
  for _, hold in ipairs(record.holds) do
    v[n + 1], v[n + 2], v[n + 3], v[n + 4] = hold.name, hold.kind, hold.window, hold.held
    v[n + 5], v[n + 6], v[n + 7] = hold.mark, hold.era, hold.pace
    n = n + 7
  end
  call('SET', key, pack(v), 'PX', format('%.0f', max(1, record.forgetAt - now)))
end
`;

/** A settlement named other counters than its reservation has. */
export const OTHER_KEYS = 'SPILLWAY keys of another reservation';

/** How long a settled id is remembered, in milliseconds. */
export const SETTLED_MS = 120_000;

/**
 * KEYS: sequence, record, record drawn on, then one for each item.
 * ARGV: now ('' for the server's), lease, kept, base of the sequence, 1 when something is drawn on, then for each item: kind,
 * window, amount, limit, refuseAt (-1: none), paced, and five starts of periods for a calendar.
 * Reply: 1 held, 0 full, 2 periods not of now; now; sequence; used of each item; index and wait of each that is full (-1: never).
 */
const RESERVE = `${COMMON}
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
const SETTLE = `${COMMON}
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

/**
 * KEYS: sequence, then for each id its record and its counters of what is running. ARGV: now, lease, then for each id how many such
 * counters it has.
 */
const RENEW = `${COMMON}
local now = clock(ARGV[1])
local lease = tonumber(ARGV[2])
local at = 2
local prefix = #KEYS[1] - 1
for i = 3, #ARGV do
  local key, counters = KEYS[at], tonumber(ARGV[i])
  local record = recordOf(call('GET', key), now)
  if record and record ~= 'S' then
    local id = string.sub(key, prefix + 3)
    local keys = {}
    for j = 1, counters do keys[string.sub(KEYS[at + j], prefix + 1)] = KEYS[at + j] end
    for _, hold in ipairs(record.holds) do
      local counter = hold.kind == 'c' and keys[hold.name]
      if counter then
        call('ZREM', counter, Running.member(hold.held, id))
        hold.mark = now + lease
        Running.add(counter, id, hold.held, hold.mark, now)
      end
    end
    record.forgetAt = now + lease + record.kept
    saveRecord(key, record, now)
  end
  at = at + 1 + counters
end
return { 1, now }
`;

/** Writes nothing. KEYS: one for each item. ARGV: now, then kind and window of each, and five starts of periods for a calendar. */
const PEEK = `${COMMON}
local now = clock(ARGV[1])
local reply = { 1, now }
local at = 2
for i = 1, #KEYS do
  local kind, window = ARGV[at], ARGV[at + 1]
  at = at + 2
  if kind == 'c' then
    reply[#reply + 1] = Running.used(KEYS[i], now)
  elseif kind == 's' then
    reply[#reply + 1] = Ring.used(Ring.load(call('GET', KEYS[i]), now, tonumber(window)))
  else
    local periods = periodsAt(at, now)
    if not periods then return { 2, now } end
    at = at + 5
    reply[#reply + 1] = Count.at(Count.load(call('GET', KEYS[i]), periods), periods[2])
  end
end
return reply
`;

/**
 * Takes up a reservation that was decided elsewhere, whatever the limits, unless its id is known here.
 * KEYS: sequence, record, then one for each item. ARGV: now, rest of the lease, kept, base of the sequence, epoch it is meant for, then
 * for each item kind, window, amount, where it is dated, and five starts of periods for a calendar.
 * Reply: 1 taken up, 0 known already or another epoch, 2 periods not of now; now; sequence.
 */
const ADOPT = `${COMMON}
local now = clock(ARGV[1])
local lease, kept = tonumber(ARGV[2]), tonumber(ARGV[3])
local raws = call('MGET', KEYS[1], KEYS[2])
local other = seqOfOther(raws[1], ARGV[5], ARGV[4])
if other then return { 0, now, other } end
if recordOf(raws[2], now) then return { 0, now, tonumber(raws[1]) } end
local prefix = #KEYS[1] - 1
local record = { lease = lease, kept = kept, forgetAt = now + lease + kept, holds = {} }
local at = 6
for i = 3, #KEYS do
  local hold = { name = string.sub(KEYS[i], prefix + 1), key = KEYS[i], kind = ARGV[at], window = ARGV[at + 1], held = tonumber(ARGV[at + 2]),
    mark = tonumber(ARGV[at + 3]), era = 0, pace = 0 }
  at = at + 4
  if hold.kind == 'd' then
    hold.periods = periodsAt(at, now)
    if not hold.periods then return { 2, now } end
    at = at + 5
  end
  record.holds[#record.holds + 1] = hold
end
local seq = nextSeq(ARGV[4])
local id = string.sub(KEYS[2], prefix + 3)
for _, hold in ipairs(record.holds) do
  if hold.kind == 'c' then
    hold.mark = now + lease
    Running.add(hold.key, id, hold.held, hold.mark, now)
  elseif hold.kind == 's' then
    local ring = Ring.load(call('GET', hold.key), now, tonumber(hold.window))
    hold.era = ring.era
    if hold.mark >= Ring.first(ring) then
      Ring.chargeLate(ring, hold.mark, hold.held)
      Ring.save(hold.key, ring, now)
    end
  elseif hold.mark >= hold.periods[1] then
    local count = Count.load(call('GET', hold.key), hold.periods)
    Count.add(count, hold.mark, hold.held)
    Count.save(hold.key, count, now)
  end
end
saveRecord(KEYS[2], record, now)
return { 1, now, seq }
`;

/**
 * Adds what was spent elsewhere, whatever the limits, once for each name of a merge.
 * KEYS: sequence, the merge's name, then one for each counter. ARGV: now, how long to remember the merge, base of the sequence, epoch it
 * is meant for, then for each counter kind, window, number of parts, mark and amount of each, and five starts of periods for a calendar.
 * Reply: 1 merged, 0 it was merged already or another epoch, 2 periods not of now; now; sequence.
 */
const MERGE = `${COMMON}
local now = clock(ARGV[1])
local raws = call('MGET', KEYS[1], KEYS[2])
local other = seqOfOther(raws[1], ARGV[4], ARGV[3])
if other then return { 0, now, other } end
if raws[2] then return { 0, now, tonumber(raws[1]) } end
local counters = {}
local at = 5
for i = 3, #KEYS do
  local counter = { key = KEYS[i], kind = ARGV[at], window = ARGV[at + 1], parts = {} }
  local n = tonumber(ARGV[at + 2])
  at = at + 3
  for part = 1, n do
    counter.parts[part] = { tonumber(ARGV[at]), tonumber(ARGV[at + 1]) }
    at = at + 2
  end
  if counter.kind == 'd' then
    counter.periods = periodsAt(at, now)
    if not counter.periods then return { 2, now } end
    at = at + 5
  end
  counters[#counters + 1] = counter
end
local seq = nextSeq(ARGV[3])
for _, counter in ipairs(counters) do
  local raw = call('GET', counter.key)
  if counter.kind == 's' then
    local ring = Ring.load(raw, now, tonumber(counter.window))
    for _, part in ipairs(counter.parts) do
      if part[1] >= Ring.first(ring) then Ring.chargeLate(ring, part[1], part[2]) end
    end
    Ring.save(counter.key, ring, now)
  else
    local count = Count.load(raw, counter.periods)
    for _, part in ipairs(counter.parts) do
      if part[1] >= counter.periods[1] then Count.add(count, part[1], part[2]) end
    end
    Count.save(counter.key, count, now)
  end
end
call('SET', KEYS[2], 'S', 'PX', ARGV[2])
return { 1, now, seq }
`;

/**
 * Says that an instance lives. KEYS: sequence, members. ARGV: now, instance, how long a word counts, base of the sequence.
 * Reply: 1; now; sequence; instances; a number of the server process, which another one does not have; 0 where it may not be asked.
 */
const BEAT = `${COMMON}
local now = clock(ARGV[1])
local keep = tonumber(ARGV[3])
call('ZADD', KEYS[2], format('%.0f', now), ARGV[2])
call('ZREMRANGEBYSCORE', KEYS[2], '-inf', format('%.0f', now - keep))
call('PEXPIRE', KEYS[2], ARGV[3])
local seq = call('GET', KEYS[1])
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%x%x%x%x%x%x%x%x%x%x)') or '0'
return { 1, now, seq and tonumber(seq) or nextSeq(ARGV[4]), call('ZCARD', KEYS[2]), tonumber(run, 16) }
`;

/** KEYS: sequence, record. ARGV: now. Reply: name, kind and window of each item that a live id holds. */
const LOOK = `${COMMON}
local record = recordOf(call('GET', KEYS[2]), clock(ARGV[1]))
local reply = {}
if record and record ~= 'S' then
  for _, hold in ipairs(record.holds) do
    for _, value in ipairs({ hold.name, hold.kind, hold.window }) do reply[#reply + 1] = value end
  end
end
return reply
`;

export const SCRIPTS = {
  reserve: script(RESERVE),
  settle: script(SETTLE),
  renew: script(RENEW),
  peek: script(PEEK),
  look: script(LOOK),
  adopt: script(ADOPT),
  merge: script(MERGE),
  beat: script(BEAT),
} as const;

function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}
