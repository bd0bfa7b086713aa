import { hashNext, NO_RANK, type TokenTable } from './token-table.js';

/** Longest piece that is merged at once, in bytes. */
export const LONGEST_MERGE = 4_096;
/** Up to here looking through all joins is faster than keeping them in order. */
export const LONGEST_SCAN = 96;

/** Reused by every merge, for merging never yields. Hashes of the piece's beginnings, by their length. */
const hashes = new Int32Array(LONGEST_MERGE + 1);
/** Where each part begins, and the rank of joining it with the next. */
const starts = new Int32Array(LONGEST_SCAN + 2);
const joins = new Int32Array(LONGEST_SCAN + 2);

/**
 * Byte pair encoding: joins the two neighbours whose union ranks first, the left one of equals, until no union is a token.
 * @param end - at most {@link LONGEST_MERGE} after `start`
 * @returns how many parts are left
 */
export function countMerged(bytes: Uint8Array, start: number, end: number, table: TokenTable): number {
  let hash = 0;
  for (let at = start; at < end; at++) {
    hash = hashNext(hash, bytes[at] as number);
    hashes[at - start + 1] = hash;
  }
  return end - start <= LONGEST_SCAN ? countByScan(bytes, start, end, table) : countByHeap(bytes, start, end, table);
}

/** Rank of the union from `from` to `to`, both counted from `start`. */
function rankOfUnion(bytes: Uint8Array, start: number, from: number, to: number, table: TokenTable): number {
  const length = to - from;
  if (length > table.longest) return NO_RANK;
  const hash = ((hashes[to] as number) - Math.imul(hashes[from] as number, table.powers[length] as number)) | 0;
  return table.rankOf(bytes, start + from, start + to, hash);
}

/** With time that grows with the square of the length. */
function countByScan(bytes: Uint8Array, start: number, end: number, table: TokenTable): number {
  let parts = end - start;
  let best = NO_RANK;
  let at = 0;
  for (let part = 0; part < parts; part++) {
    starts[part] = part;
    const rank = part + 1 < parts ? pairRank(bytes, start + part, table) : NO_RANK;
    joins[part] = rank;
    if (rank < best) {
      best = rank;
      at = part;
    }
  }
  starts[parts] = parts;
  while (best !== NO_RANK) {
    parts--;
    for (let part = at + 1; part < parts; part++) {
      starts[part] = starts[part + 1] as number;
      joins[part] = joins[part + 1] as number;
    }
    starts[parts] = end - start;
    joins[at] = at + 1 < parts ? rankOfUnion(bytes, start, starts[at] as number, starts[at + 2] as number, table) : NO_RANK;
    if (at > 0) joins[at - 1] = rankOfUnion(bytes, start, starts[at - 1] as number, starts[at + 1] as number, table);
    best = NO_RANK;
    for (let part = 0; part < parts; part++) {
      const rank = joins[part] as number;
      if (rank < best) {
        best = rank;
        at = part;
      }
    }
  }
  return parts;
}

function pairRank(bytes: Uint8Array, at: number, { pairs }: TokenTable): number {
  return pairs[((bytes[at] as number) << 8) | (bytes[at + 1] as number)] as number;
}

/** Of the part that begins at each byte: where the next and the one before begin, and the rank of joining it with the next. */
const nexts = new Int32Array(LONGEST_MERGE + 1);
const befores = new Int32Array(LONGEST_MERGE + 1);
const ranks = new Int32Array(LONGEST_MERGE + 1);
/** Joins that may be made, the first in front; one number each: its rank, then where it begins. Those that were overtaken stay. */
const heap = new Float64Array(3 * LONGEST_MERGE + 1);
const POSITIONS = 2 * LONGEST_MERGE;
let heapSize = 0;

/** With time that grows with the length and its logarithm. */
function countByHeap(bytes: Uint8Array, start: number, end: number, table: TokenTable): number {
  const length = end - start;
  let parts = length;
  heapSize = 0;
  for (let at = 0; at < length; at++) {
    nexts[at] = at + 1;
    befores[at] = at - 1;
    ranks[at] = NO_RANK;
    if (at + 1 < length) offer(at, pairRank(bytes, start + at, table));
  }
  while (heapSize > 0) {
    const first = pop();
    const at = first % POSITIONS;
    if (ranks[at] !== (first - at) / POSITIONS) continue;
    parts--;
    const joined = nexts[at] as number;
    const next = nexts[joined] as number;
    ranks[joined] = NO_RANK;
    nexts[at] = next;
    ranks[at] = NO_RANK;
    if (next < length) {
      befores[next] = at;
      offer(at, rankOfUnion(bytes, start, at, nexts[next] as number, table));
    }
    const before = befores[at] as number;
    if (before >= 0) {
      ranks[before] = NO_RANK;
      offer(before, rankOfUnion(bytes, start, before, next, table));
    }
  }
  return parts;
}

function offer(at: number, rank: number): void {
  if (rank === NO_RANK) return;
  ranks[at] = rank;
  const value = rank * POSITIONS + at;
  let place = heapSize++;
  while (place > 0) {
    const parent = (place - 1) >> 1;
    if ((heap[parent] as number) <= value) break;
    heap[place] = heap[parent] as number;
    place = parent;
  }
  heap[place] = value;
}

function pop(): number {
  const first = heap[0] as number;
  const last = heap[--heapSize] as number;
  let place = 0;
  for (;;) {
    let child = 2 * place + 1;
    if (child >= heapSize) break;
    if (child + 1 < heapSize && (heap[child + 1] as number) < (heap[child] as number)) child++;
    if ((heap[child] as number) >= last) break;
    heap[place] = heap[child] as number;
    place = child;
  }
  heap[place] = last;
  return first;
}
