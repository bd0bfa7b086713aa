/**
 * Reservations, as MessagePack: lease, kept, forgetAtMs, number of items; then of each its name, what it holds, and its mark;
 * then, where one is not 0, the eras of all and their paceMs. `S` once one is settled. A name is its key without the hash tag.
 */
export const RECORD = `-- Nil: nobody knows the id. 'S': it is settled.
local function recordOf(raw, now)
  if not raw or raw == 'S' then return raw or nil end
  local record = unpack_(raw)
  return now < record[3] and record or nil
end

local function saveRecord(key, record, now)
  call('SET', key, pack(record), 'PX', format('%.0f', max(1, record[3] - now)))
end

local function setEraAndPace(record, i, era, pace)
  local n = record[4]
  if not record[5 + 3 * n] then
    if era == 0 and pace == 0 then return end
    for j = 5 + 3 * n, 4 + 5 * n do record[j] = 0 end
  end
  record[4 + 3 * n + i], record[4 + 4 * n + i] = era, pace
end
`;
