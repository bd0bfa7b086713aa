import { BASICS } from './basics.js';
import { CALENDAR } from './calendar.js';
import { RECORD } from './record.js';
import { RING } from './ring.js';
import { RUNNING } from './running.js';

/**
 * Takes up a reservation that was decided elsewhere, whatever the limits, unless its id is known here.
 * KEYS: sequence, record, then one for each item. ARGV: now, rest of the lease, kept, base of the sequence, epoch it is meant for, then
 * for each item kind, window, amount, where it is dated, and five starts of periods for a calendar.
 * Reply: 1 taken up, 0 known already or another epoch, 2 periods not of now; now; sequence.
 */
export const ADOPT = `${BASICS}${RING}${CALENDAR}${RUNNING}${RECORD}
local now = clock(ARGV[1])
local lease, kept = tonumber(ARGV[2]), tonumber(ARGV[3])
local raws = call('MGET', KEYS[1], KEYS[2])
local other = seqOfOther(raws[1], ARGV[5], ARGV[4])
if other then return { 0, now, other } end
if recordOf(raws[2], now) then return { 0, now, tonumber(raws[1]) } end
local prefix = #KEYS[1] - 1
local n = #KEYS - 2
local record = { lease, kept, now + lease + kept, n }
local items = {}
local at = 6
for i = 1, n do
  local item = { key = KEYS[i + 2], kind = ARGV[at], window = ARGV[at + 1], held = tonumber(ARGV[at + 2]), mark = tonumber(ARGV[at + 3]) }
  at = at + 4
  if item.kind == 'd' then
    item.periods = periodsAt(at, now)
    if not item.periods then return { 2, now } end
    at = at + 5
  end
  items[i] = item
end
for i, item in ipairs(items) do
  if item.kind == 'c' then item.mark = now + lease end
  record[2 + 3 * i], record[3 + 3 * i], record[4 + 3 * i] = string.sub(item.key, prefix + 1), item.held, item.mark
end
local seq = nextSeq(ARGV[4])
local id = string.sub(KEYS[2], prefix + 3)
for i, item in ipairs(items) do
  if item.kind == 'c' then
    Running.add(item.key, id, item.held, item.mark, now)
  elseif item.kind == 's' then
    local ring = Ring.load(call('GET', item.key), now, tonumber(item.window))
    setEraAndPace(record, i, ring.era, 0)
    if item.mark >= Ring.first(ring) then
      Ring.chargeLate(ring, item.mark, item.held)
      Ring.save(item.key, ring, now)
    end
  elseif item.mark >= item.periods[1] then
    local count = Count.load(call('GET', item.key), item.periods)
    Count.add(count, item.mark, item.held)
    Count.save(item.key, count, now)
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
export const MERGE = `${BASICS}${RING}${CALENDAR}
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
export const BEAT = `${BASICS}
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
