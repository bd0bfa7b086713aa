/**
 * Sliding windows. The arithmetic is that of the memory store, line by line, so that both give equal answers to equal commands; Lua's
 * numbers are the same doubles.
 *
 * A window is a packed string: bytes of an older slot's amount, era, pacedUntilMs, head slot, its amount, sum of the older slots; then
 * each of these, oldest first, as last byte of the slot and amount. A decision reads and writes the head alone.
 */
export const RING = `local byte, sub, abs = string.byte, string.sub, math.abs
local spack, sunpack = struct.pack, struct.unpack

-- A window as its string has it: the older slots stay packed, and are looked at one by one where they matter.
local HEADER = '<BI4dddd'
local TAIL = 38
-- Where the head's amount begins, counted from 0.
local AMOUNT = 21
local ENTRY = { [2] = '<BI2', [4] = '<BI4', [8] = '<Bd' }
local MOST = { [2] = 65535, [4] = 4294967295 }
local Ring = {}

function Ring.load(raw, now, ms)
  local slot = slotAt(now, ms)
  local width, era, paced, head, amount, sum
  if raw and #raw >= TAIL - 1 then width, era, paced, head, amount, sum = sunpack(HEADER, raw) end
  -- What somebody else may have written there counts for nothing, and is written over.
  if not ENTRY[width or 0] or (#raw - TAIL + 1) % (width + 1) ~= 0 or not (amount >= 0 and sum >= 0 and amount + sum < 1e17)
    or not (abs(head) < 1e15 and abs(paced) < 1e15) then
    return { ms = ms, slot = slot, width = 2, era = 0, paced = 0, head = slot, amount = 0, sum = 0, raw = '', at = 1 }
  end
  if head - slot > 2 * SLOTS then
    return { ms = ms, slot = slot, width = 2, era = era + 1, paced = 0, head = slot, amount = amount + sum, sum = 0, raw = '', at = 1 }
  end
  return { ms = ms, slot = slot, width = width, era = era, paced = paced, head = head, amount = amount, sum = sum, raw = raw, at = TAIL,
    was = paced }
end

function Ring.save(key, ring, now)
  if ring.at == TAIL and ring.paced == ring.was then
    -- Nothing but the head's amount has changed, and it ends when it did.
    call('SETRANGE', key, AMOUNT, spack('<d', ring.amount))
    return
  end
  local px = max(leavesAt(ring.head, ring.ms) - now, ring.paced - now, 0) + 1000
  local value = spack(HEADER, ring.width, ring.era, ring.paced, ring.head, ring.amount, ring.sum)
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
    local first, moved, movedSlot = Ring.first(ring), ask.moved, ask.mark
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
`;
