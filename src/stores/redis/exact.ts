import { encodeKey } from '../../identity.js';
import { leaseOf, whole } from '../amounts.js';
import { ClockHand } from '../clock-hand.js';
import type { Counted } from '../counters.js';
import type { Item, ReserveHow } from '../store.js';
import { keptAfterLease } from '../unsettled.js';
import { createBatch } from './batch.js';
import { type RedisClient, runScript } from './client.js';
import { type Answered, type Deciding, type Decision, deliver, encode } from './decisions.js';
import { OTHER_KEYS } from './lua/decide.js';
import { type Place, Places } from './places.js';
import { SCRIPTS, type Script } from './scripts.js';

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
  const newBase = (): string => String(parts.newEpoch() * EPOCH);
  const known = new Map<string, Known>();
  const hand = new ClockHand(known);
  /** How far the server's clock is ahead of ours when it last told. */
  let aheadMs = 0;
  const places = new Places(parts.prefix, () => parts.now() + aheadMs);
  const { sequence } = places;
  const decide = createBatch<Deciding>((together) => void decideTogether(together));

  const given = (): string => (parts.serverNow ? String(Math.floor(parts.serverNow())) : '');
  const startsOf = (place: Place): string[] => (place.kind === 'd' ? places.startsOf(place).map(String) : []);

  /** The server's time lies between asking and hearing: an answer that was long on its way tells little, and must not mislead. */
  function hearTime(nowMs: number, sentMs: number): void {
    const heardMs = Math.max(sentMs, parts.now());
    aheadMs = Math.min(Math.max(aheadMs, nowMs - heardMs), nowMs - sentMs);
  }

  /** Runs a script until its periods are those of the server's present. */
  async function run(
    client: RedisClient,
    script: Script,
    ask: () => { readonly keys: readonly string[]; readonly args: readonly string[] },
  ): Promise<unknown[]> {
    for (let tries = 0; ; tries++) {
      const sentMs = parts.now();
      const { keys, args } = ask();
      const reply = (await runScript(client, script, keys, args)) as unknown[];
      hearTime(Number(reply[1]), sentMs);
      if (Number(reply[0]) !== 2) return reply;
      if (tries === MOST_TRIES) throw new Error('the clock of Redis jumps too far to find its day');
    }
  }

  /** The same, of scripts that reply with numbers alone. */
  async function runFor<T extends number[]>(
    client: RedisClient,
    script: Script,
    keys: readonly string[],
    args: () => readonly string[],
  ): Promise<T> {
    return (await run(client, script, () => ({ keys, args: args() }))).map(Number) as T;
  }

  async function decideTogether(together: readonly Deciding[]): Promise<void> {
    try {
      const [, atMs, ...answers] = await run(parts.client, SCRIPTS.decide, () => {
        const { keys, list } = encode(together, places);
        return { keys, args: [given(), newBase(), list] };
      });
      deliver(together, answers, Number(atMs));
    } catch (error) {
      for (const { failed } of together) failed(error);
    }
  }

  function remember(id: string, itsPlaces: readonly Place[], leaseMs: number, keptMs: number): void {
    known.set(id, { places: itsPlaces, keptMs, forgetAtMs: parts.now() + leaseMs + keptMs });
    for (let look = 0; look < LOOKS; look++) {
      const entry = hand.next();
      if (entry && entry[1].forgetAtMs <= parts.now()) known.delete(entry[0]);
    }
  }

  /** Where the items of an id are counted, by the server: somebody else reserved it. */
  async function lookUp(id: string): Promise<readonly Place[]> {
    const names = (await runScript(parts.client, SCRIPTS.look, [sequence, places.record(id)], [given()])) as string[];
    return names.map((name) => places.named(name));
  }

  function reserve(id: string, items: readonly Item[], how: ReserveHow): Promise<Decision> {
    const leaseMs = leaseOf(how.leaseMs);
    const keptMs = keptAfterLease(items, leaseMs);
    const itsPlaces = items.map((item) => places.of(item));
    remember(id, itsPlaces, leaseMs, keptMs);
    return new Promise((resolve, failed) => {
      const done = (decision: Decision) => {
        if (decision.kind === 'full') known.delete(id);
        resolve(decision);
      };
      const from = how.from === undefined ? undefined : places.record(how.from);
      decide({ record: places.record(id), from, items, places: itsPlaces, leaseMs, keptMs, done, failed });
    });
  }

  async function settle(id: string, amounts: readonly number[]): Promise<Answered> {
    try {
      return await settleAt(id, amounts, known.get(id)?.places ?? (await lookUp(id)));
    } catch (error) {
      // Somebody else reserved under this id meanwhile, or other items.
      if (!`${error}`.includes(OTHER_KEYS)) throw error;
      known.delete(id);
      return settleAt(id, amounts, await lookUp(id));
    }
  }

  function settleAt(id: string, amounts: readonly number[], itsPlaces: readonly Place[]): Promise<Answered> {
    return new Promise((resolve, failed) => {
      const done = (answered: Answered) => {
        known.delete(id);
        resolve(answered);
      };
      decide({ record: places.record(id), amounts, places: itsPlaces, done, failed });
    });
  }

  async function renew(ids: readonly string[], leaseMs: number): Promise<void> {
    const keys = [sequence];
    const counts: string[] = [];
    for (const id of ids) {
      const own = known.get(id);
      const running = (own?.places ?? (await lookUp(id))).filter(({ kind }) => kind === 'c');
      keys.push(places.record(id), ...running.map(({ key }) => key));
      counts.push(String(running.length));
      if (own) own.forgetAtMs = parts.now() + leaseOf(leaseMs) + own.keptMs;
    }
    if (counts.length > 0) await runScript(parts.client, SCRIPTS.renew, keys, [given(), String(leaseOf(leaseMs)), ...counts]);
  }

  async function peek(items: readonly Pick<Item, 'counter' | 'window'>[]): Promise<readonly number[]> {
    if (items.length === 0) return [];
    const itsPlaces = items.map((item) => places.of(item));
    const keys = itsPlaces.map(({ key }) => key);
    const reply = await runFor(parts.readClient, SCRIPTS.peek, keys, () => [
      given(),
      ...itsPlaces.flatMap((place) => [place.kind, place.window, ...startsOf(place)]),
    ]);
    return reply.slice(2);
  }

  async function adopt({ id, items, held, leaseMs, leaseEndMs, atMs }: Adopted, epoch: number): Promise<Answered> {
    const itsPlaces = items.map((item) => places.of(item));
    const keptMs = keptAfterLease(items, leaseMs);
    remember(id, itsPlaces, leaseMs, keptMs);
    const keys = [sequence, places.record(id), ...itsPlaces.map(({ key }) => key)];
    const [, toldMs, seq] = await runFor<[number, number, number]>(parts.client, SCRIPTS.adopt, keys, () => [
      given(),
      String(Math.max(0, Math.ceil(leaseEndMs - nowMs()))),
      String(keptMs),
      newBase(),
      String(epoch),
      ...itsPlaces.flatMap((place, index) => {
        const mark = String(places.markOf(place, atMs));
        return [place.kind, place.window, String(whole(held[index])), mark, ...startsOf(place)];
      }),
    ]);
    return { atMs: toldMs, seq };
  }

  async function merge(name: string, counted: readonly Counted[], epoch: number): Promise<Answered> {
    const itsPlaces = counted.map((each) => places.of(each));
    const keys = [sequence, `${places.tag}m:${encodeKey(name)}`, ...itsPlaces.map(({ key }) => key)];
    const [, atMs, seq] = await runFor<[number, number, number]>(parts.client, SCRIPTS.merge, keys, () => [
      given(),
      String(MERGED_MS),
      newBase(),
      String(epoch),
      ...counted.flatMap(({ parts: list }, index) => {
        const place = itsPlaces[index] as Place;
        return [place.kind, place.window, String(list.length), ...list.flat().map(String), ...startsOf(place)];
      }),
    ]);
    return { atMs, seq };
  }

  async function beat(instance: string, keepMs: number): Promise<Beat> {
    const args = () => [given(), instance, String(keepMs), newBase()];
    const keys = [sequence, `${places.tag}i`];
    const reply = await runFor<[number, number, number, number, number]>(parts.client, SCRIPTS.beat, keys, args);
    const [, atMs, seq, instances, process] = reply;
    return { atMs, seq, instances, run: process };
  }

  function nowMs(): number {
    return parts.serverNow ? parts.serverNow() : parts.now() + aheadMs;
  }

  return { reserve, settle, renew, peek, adopt, merge, beat, nowMs };
}
