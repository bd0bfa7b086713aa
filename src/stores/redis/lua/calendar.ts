/** Calendar days and months, as MessagePack: period, used, previous period, previous used. */
export const CALENDAR = `local Count = {}

function Count.load(raw, periods)
  local count = { period = periods[2], used = 0, previous = false, previousUsed = 0, periods = periods }
  local isPacked, v = pcall(unpack_, raw or '')
  if isPacked and type(v) == 'table' and type(v[1]) == 'number' and type(v[2]) == 'number' and type(v[4]) == 'number' then
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

-- Periods of a calendar as the caller computed them: previous, current, and the starts of three later ones. Nil: it is not now.
local function periodsAt(at, now)
  local periods = {}
  for i = 1, 5 do periods[i] = tonumber(ARGV[at + i - 1]) end
  if now < periods[2] or now >= periods[3] then return nil end
  return periods
end
`;
