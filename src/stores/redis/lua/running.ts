/** What is running: a sorted set of `amount|id` by the end of the lease; `+` is in it when amounts other than 1 may be. */
export const RUNNING = `local Running = {}

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
`;
