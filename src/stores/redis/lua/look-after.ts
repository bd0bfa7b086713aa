import { BASICS } from './basics.js';
import { CALENDAR } from './calendar.js';
import { RECORD } from './record.js';
import { RING } from './ring.js';
import { RUNNING } from './running.js';

/**
 * KEYS: sequence, then for each id its record and its counters of what is running. ARGV: now, lease, then for each id how many such
 * counters it has.
 */
export const RENEW = `${BASICS}${RUNNING}${RECORD}
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
    local n = record[4]
    for j = 1, n do
      local counter, held = keys[record[2 + 3 * j]], record[3 + 3 * j]
      if counter then
        call('ZREM', counter, Running.member(held, id))
        record[4 + 3 * j] = now + lease
        Running.add(counter, id, held, now + lease, now)
      end
    end
    record[3] = now + lease + record[2]
    saveRecord(key, record, now)
  end
  at = at + 1 + counters
end
return { 1, now }
`;

/** Writes nothing. KEYS: one for each item. ARGV: now, then kind and window of each, and five starts of periods for a calendar. */
export const PEEK = `${BASICS}${RING}${CALENDAR}${RUNNING}
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

/** KEYS: sequence, record. ARGV: now. Reply: the name of each item that a live id holds. */
export const LOOK = `${BASICS}${RECORD}
local record = recordOf(call('GET', KEYS[2]), clock(ARGV[1]))
if not record or record == 'S' then return {} end
local reply = {}
for i = 1, record[4] do reply[i] = record[2 + 3 * i] end
return reply
`;
