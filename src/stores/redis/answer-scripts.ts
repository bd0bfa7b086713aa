import { createHash } from 'node:crypto';
import type { Script } from './scripts.js';

/** What an answer takes beside itself: its name in both keys. */
export const OVERHEAD_BYTES = 256;

/**
 * All answers are fields of one hash, with `#` for their bytes together, beside an index of the fields by the end of their time in
 * microseconds: what has been there longest comes first where all may stay equally long. KEYS: hash, index.
 */
const COMMON = `
local values, index = KEYS[1], KEYS[2]
local call = redis.call

local function clock()
  local time = call('TIME')
  return time[1] * 1000000 + time[2]
end

local function load()
  -- Redis may have dropped one of the two.
  if call('ZCARD', index) ~= math.max(0, call('HLEN', values) - 1) then call('DEL', values, index) end
  return tonumber(call('HGET', values, '#') or '0')
end

local function drop(field)
  local size = call('HSTRLEN', values, field)
  call('HDEL', values, field)
  call('ZREM', index, field)
  return size > 0 and size + ${OVERHEAD_BYTES} or 0
end

local function save(total)
  if call('ZCARD', index) == 0 then
    call('DEL', values)
  else
    call('HSET', values, '#', string.format('%.0f', math.max(0, total)))
  end
end
`;

/** ARGV: field. Reply: the value, or nothing when it is not there or its time is over. */
const GET = `${COMMON}
local untilAt = call('ZSCORE', index, ARGV[1])
if not untilAt or tonumber(untilAt) <= clock() then return false end
return call('HGET', values, ARGV[1])
`;

/** ARGV: field, value, how long it may stay, most bytes of all. It fits by itself. */
const SET = `${COMMON}
local field, ttl, most = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local now = clock()
local total = load() - drop(field) + #ARGV[2] + ${OVERHEAD_BYTES}
for _, old in ipairs(call('ZRANGEBYSCORE', index, '-inf', string.format('%.0f', now), 'LIMIT', 0, 100)) do
  total = total - drop(old)
end
for _ = 1, 1000 do
  if total <= most then break end
  local oldest = call('ZRANGE', index, 0, 0)[1]
  if not oldest then break end
  total = total - drop(oldest)
end
call('HSET', values, field, ARGV[2])
call('ZADD', index, string.format('%.0f', now + ttl * 1000), field)
save(total)
for _, key in ipairs(KEYS) do
  if call('PTTL', key) < ttl then call('PEXPIRE', key, ARGV[3]) end
end
return 1
`;

/** ARGV: field. */
const DELETE = `${COMMON}
save(load() - drop(ARGV[1]))
return 1
`;

export const ANSWER_SCRIPTS = { get: script(GET), set: script(SET), delete: script(DELETE) } as const;

function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}
