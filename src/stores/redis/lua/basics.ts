/** What every script begins with: the time, the sequence, and the slots of windows. */
export const BASICS = `
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
`;
