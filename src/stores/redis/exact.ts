import { createCalendar, type Period } from '../../budget/calendar.js';
import { slotAt } from '../../budget/ring.js';
import { encodeKey } from '../../identity.js';
import { leaseOf, whole } from '../amounts.js';
import { ClockHand } from '../clock-hand.js';
import type { Counted } from '../counters.js';
import type { Full, Held, Item, ReserveHow, Window } from '../store.js';
import { keptAfterLease } from '../unsettled.js';
import { type RedisClient, runScript } from './client.js';
import { OTHER_KEYS } from './lua/decide.js';
import { SCRIPTS, type Script, SETTLED_MS } from './scripts.js';

/** A decision of the shared counts, with its place in their history. */
export type Decision = (Held | Full) & {
  /** Grows by one with each change; changes alone have one of their own. */
  readonly seq: number;
};

/** What a settlement or renewal tells of the shared counts. */
export interface Answered {
  readonly seq: number;
  readonly atMs: number;
}

/** The counts themselves: one round trip for each command, no word about what happens when Redis does not answer. */
export interface Exact {
  reserve(id: string, items: readonly Item[], how: ReserveHow): Promise<Decision>;
  settle(id: string, amounts: readonly number[]): Promise<Answered>;
  renew(ids: readonly string[], leaseMs: number): Promise<void>;
  peek(items: readonly Pick<Item, 'counter' | 'window'>[]): Promise<readonly number[]>;
  /**
   * Takes up a reservation that was decided elsewhere, whatever the limits, unless its id is known.
   * @param epoch - of the counts that lack it: those of another one stay as they are
   */
  adopt(reservation: Adopted, epoch: number): Promise<Answered>;
  /** Adds what was spent elsewhere, once for each name, to the counts of one epoch. */
  merge(name: string, counted: readonly Counted[], epoch: number): Promise<Answered>;
  /** The server's time as far as it is known, epoch milliseconds. */
  nowMs(): number;
  /** Says that an instance lives. */
  beat(instance: string, keepMs: number): Promise<Beat>;
}

export interface Beat extends Answered {
  /** Instances that said so in the last `keepMs`. */
  readonly instances: number;
  /** Another number when another server process answers; 0 where the server does not tell. */
  readonly run: number;
}

/** A reservation that was decided elsewhere. */
export interface Adopted {
  readonly id: string;
  readonly items: readonly Item[];
  /** What it holds, in the items' order. */
  readonly held: readonly number[];
  readonly leaseMs: number;
  /** By the server's time, like the next. */
  readonly leaseEndMs: number;
  /** When it was decided, epoch milliseconds. */
  readonly atMs: number;
}

export interface ExactParts {
  readonly client: RedisClient;
  /** Asked by `peek`. */
  readonly readClient: RedisClient;
  /** Names the hash tag that all keys share. */
  readonly prefix: string;
  /** A number from 0 to 2^20 for counts that begin anew, another one each time: 2^32 numbers of the sequence are its own. */
  readonly newEpoch: () => number;
  readonly now: () => number;
  /** In the place of the server's time, for tests. */
  readonly serverNow?: (() => number) | undefined;
}

/** Kind, window and counter of an item, as keys and scripts know them. */
interface Place {
  readonly key: string;
  readonly kind: 's' | 'd' | 'c';
  readonly window: string;
}

interface Known {
  readonly places: readonly Place[];
  forgetAtMs: number;
  readonly keptMs: number;
}

/** Numbers of the sequence between one epoch and the next. */
const EPOCH = 2 ** 32;
/** How long a merge is remembered, in milliseconds: whoever got no answer asks again, after however long an outage. */
const MERGED_MS = 24 * 3_600_000;

/** Periods are asked for again when the clocks differ by more than their rest; each answer tells the server's time. */
const MOST_TRIES = 4;
const LOOKS = 2;

/** Which counts a number of the sequence belongs to: they have another epoch when they were lost and began anew. */
export const epochOf = (seq: number): number => Math.floor(seq / EPOCH);

export function createExact(parts: ExactParts): Exact {
  const tag = `{${encodeKey(parts.prefix)}}`;
  const seqKey = `${tag}q`;
  const newBase = (): string => String(parts.newEpoch() * EPOCH);
  const calendars = new Map<string, (nowMs: number) => Period>();
  const periods = new Map<string, { readonly startMs: number; readonly endMs: number; readonly starts: readonly string[] }>();
  const known = new Map<string, Known>();
  const hand = new ClockHand(known);
  /** How far the server's clock is ahead of ours when it last told. */
  let aheadMs = 0;

  const recordKey = (id: string): string => `${tag}r:${encodeKey(id)}`;
  const given = (): string => (parts.serverNow ? String(Math.floor(parts.serverNow())) : '');

  /** The server's time lies between asking and hearing: an answer that was long on its way tells little, and must not mislead. */
  function hearTime(nowMs: number, sentMs: number): void {
    const heardMs = Math.max(sentMs, parts.now());
    aheadMs = Math.min(Math.max(aheadMs, nowMs - heardMs), nowMs - sentMs);
  }

  function placeOf({ counter, window }: Pick<Item, 'counter' | 'window'>): Place {
    const [kind, name] = windowName(window);
    return { key: `${tag}${kind}${name}:${counter}`, kind, window: name };
  }

  function calendarOf({ window }: Place): (nowMs: number) => Period {
    let calendar = calendars.get(window);
    if (!calendar) {
      const [unit, timeZone] = window.split('@', 2) as ['day' | 'month', string];
      calendar = createCalendar(unit, timeZone);
      calendars.set(window, calendar);
    }
    return calendar;
  }

  /** Where an item that was decided at `atMs` is dated. */
  function markOf(place: Place, atMs: number): number {
    if (place.kind === 'c') return 0;
    return place.kind === 's' ? slotAt(atMs, Number(place.window)) : calendarOf(place)(atMs).startMs;
  }

  /** Previous, current and three later starts of the periods around the server's present. Found once for each period: that is slow. */
  function periodsOf(place: Place): readonly string[] {
    const nowMs = parts.now() + aheadMs;
    const known = periods.get(place.window);
    if (known && nowMs >= known.startMs && nowMs < known.endMs) return known.starts;
    const calendar = calendarOf(place);
    const { previousMs, startMs, endMs } = calendar(nowMs);
    const second = calendar(endMs).endMs;
    const third = calendar(second).endMs;
    // The calendar remembers one period: the present one is asked for again.
    calendar(startMs);
    const starts = [previousMs, startMs, endMs, second, third].map(String);
    periods.set(place.window, { startMs, endMs, starts });
    return starts;
  }

  /** Runs a script until its periods are those of the server's present. */
  async function run(client: RedisClient, script: Script, keys: readonly string[], args: () => string[]): Promise<number[]> {
    for (let tries = 0; ; tries++) {
      const sentMs = parts.now();
      const reply = ((await runScript(client, script, keys, args())) as unknown[]).map(Number);
      const [status, nowMs] = reply as [number, number];
      hearTime(nowMs, sentMs);
      if (status !== 2) return reply;
      if (tries === MOST_TRIES) throw new Error('the clock of Redis jumps too far to find its day');
    }
  }

  function remember(id: string, places: readonly Place[], items: readonly Item[], leaseMs: number): void {
    const keptMs = keptAfterLease(items, leaseMs);
    known.set(id, { places, keptMs, forgetAtMs: parts.now() + leaseMs + keptMs });
    for (let look = 0; look < LOOKS; look++) {
      const entry = hand.next();
      if (entry && entry[1].forgetAtMs <= parts.now()) known.delete(entry[0]);
    }
  }

  /** Where the items of an id are counted; asks the server about one that somebody else reserved. */
  async function placesOf(id: string): Promise<readonly Place[]> {
    const own = known.get(id);
    if (own) return own.places;
    const reply = (await runScript(parts.client, SCRIPTS.look, [seqKey, recordKey(id)], [given()])) as string[];
    const places: Place[] = [];
    for (let at = 0; at + 2 < reply.length; at += 3) {
      const [name, kind, window] = reply.slice(at, at + 3) as [string, Place['kind'], string];
      places.push({ key: `${tag}${name}`, kind, window });
    }
    return places;
  }

  async function reserve(id: string, items: readonly Item[], how: ReserveHow): Promise<Decision> {
    const places = items.map(placeOf);
    const leaseMs = leaseOf(how.leaseMs);
    remember(id, places, items, leaseMs);
    const from = how.from === undefined ? recordKey(id) : recordKey(how.from);
    const keys = [seqKey, recordKey(id), from, ...places.map(({ key }) => key)];
    const reply = await run(parts.client, SCRIPTS.reserve, keys, () => {
      const args = [
        given(),
        String(leaseMs),
        String(keptAfterLease(items, leaseMs)),
        newBase(),
        how.from === undefined ? '0' : '1',
      ];
      items.forEach(({ amount, limit, refuseAt, paced }, index) => {
        const place = places[index] as Place;
        args.push(place.kind, place.window, String(whole(amount)), String(limit));
        args.push(refuseAt < Infinity ? String(refuseAt) : '-1', paced ? '1' : '0');
        if (place.kind === 'd') args.push(...periodsOf(place));
      });
      return args;
    });
    const [status, atMs, seq, ...rest] = reply as [number, number, number, ...number[]];
    const used = rest.slice(0, items.length);
    if (status === 1) return { kind: 'held', used, atMs, seq };
    const full: { index: number; waitMs: number }[] = [];
    for (let at = items.length; at + 1 < rest.length; at += 2) {
      const waitMs = rest[at + 1] as number;
      full.push({ index: rest[at] as number, waitMs: waitMs < 0 ? Infinity : waitMs });
    }
    known.delete(id);
    return { kind: 'full', full, used, atMs, seq };
  }

  async function settle(id: string, amounts: readonly number[]): Promise<Answered> {
    try {
      return await settleAt(id, amounts, await placesOf(id));
    } catch (error) {
      // Somebody else reserved under this id, and other items.
      if (!`${error}`.includes(OTHER_KEYS) || !known.delete(id)) throw error;
      return settleAt(id, amounts, await placesOf(id));
    }
  }

  async function settleAt(id: string, amounts: readonly number[], places: readonly Place[]): Promise<Answered> {
    const keys = [seqKey, recordKey(id), ...places.map(({ key }) => key)];
    const [, atMs, seq] = (await run(parts.client, SCRIPTS.settle, keys, () => [
      given(),
      String(SETTLED_MS),
      newBase(),
      ...places.map((_, index) => String(whole(amounts[index]))),
      ...places.flatMap((place) => (place.kind === 'd' ? periodsOf(place) : [])),
    ])) as [number, number, number];
    known.delete(id);
    return { seq, atMs };
  }

  async function renew(ids: readonly string[], leaseMs: number): Promise<void> {
    const keys = [seqKey];
    const counts: string[] = [];
    for (const id of ids) {
      const running = (await placesOf(id)).filter(({ kind }) => kind === 'c');
      keys.push(recordKey(id), ...running.map(({ key }) => key));
      counts.push(String(running.length));
      const own = known.get(id);
      if (own) own.forgetAtMs = parts.now() + leaseOf(leaseMs) + own.keptMs;
    }
    if (counts.length > 0) await runScript(parts.client, SCRIPTS.renew, keys, [given(), String(leaseOf(leaseMs)), ...counts]);
  }

  async function peek(items: readonly Pick<Item, 'counter' | 'window'>[]): Promise<readonly number[]> {
    if (items.length === 0) return [];
    const places = items.map(placeOf);
    const keys = places.map(({ key }) => key);
    const reply = await run(parts.readClient, SCRIPTS.peek, keys, () => [
      given(),
      ...places.flatMap((place) => [place.kind, place.window, ...(place.kind === 'd' ? periodsOf(place) : [])]),
    ]);
    return reply.slice(2);
  }

  async function adopt({ id, items, held, leaseMs, leaseEndMs, atMs }: Adopted, epoch: number): Promise<Answered> {
    const places = items.map(placeOf);
    remember(id, places, items, leaseMs);
    const keys = [seqKey, recordKey(id), ...places.map(({ key }) => key)];
    const [, toldMs, seq] = (await run(parts.client, SCRIPTS.adopt, keys, () => [
      given(),
      String(Math.max(0, Math.ceil(leaseEndMs - nowMs()))),
      String(keptAfterLease(items, leaseMs)),
      newBase(),
      String(epoch),
      ...places.flatMap((place, index) => {
        const own = [place.kind, place.window, String(whole(held[index])), String(markOf(place, atMs))];
        return place.kind === 'd' ? [...own, ...periodsOf(place)] : own;
      }),
    ])) as [number, number, number];
    return { atMs: toldMs, seq };
  }

  async function merge(name: string, counted: readonly Counted[], epoch: number): Promise<Answered> {
    const places = counted.map(placeOf);
    const keys = [seqKey, `${tag}m:${encodeKey(name)}`, ...places.map(({ key }) => key)];
    const [, atMs, seq] = (await run(parts.client, SCRIPTS.merge, keys, () => [
      given(),
      String(MERGED_MS),
      newBase(),
      String(epoch),
      ...counted.flatMap(({ parts: list }, index) => {
        const place = places[index] as Place;
        const own = [place.kind, place.window, String(list.length), ...list.flat().map(String)];
        return place.kind === 'd' ? [...own, ...periodsOf(place)] : own;
      }),
    ])) as [number, number, number];
    return { atMs, seq };
  }

  async function beat(instance: string, keepMs: number): Promise<Beat> {
    const args = () => [given(), instance, String(keepMs), newBase()];
    const reply = await run(parts.client, SCRIPTS.beat, [seqKey, `${tag}i`], args);
    const [, atMs, seq, instances, process] = reply as [number, number, number, number, number];
    return { atMs, seq, instances, run: process };
  }

  function nowMs(): number {
    return parts.serverNow ? parts.serverNow() : parts.now() + aheadMs;
  }

  return { reserve, settle, renew, peek, adopt, merge, beat, nowMs };
}

function windowName(window: Window): [Place['kind'], string] {
  switch (window.kind) {
    case 'sliding':
      return ['s', String(window.ms)];
    case 'calendar':
      return ['d', `${window.unit}@${window.timeZone}`];
    case 'concurrent':
      return ['c', ''];
    default:
      return window satisfies never;
  }
}
