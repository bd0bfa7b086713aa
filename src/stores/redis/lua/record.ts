/**
 * Reservations, as MessagePack: lease, kept, forgetAtMs, then for each item name, kind, window, held, mark, era, paceMs; `S` once one is
 * settled.
 */
export const RECORD = `local function recordOf(raw, now)
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
