import { randomInt } from 'node:crypto';
import type { Cancel, Clock } from '../../clock.js';
import type { StoreNotice } from '../store.js';
import { checkServer } from './check-server.js';
import type { RedisClient } from './client.js';
import type { Exact } from './exact.js';
import type { Link, Loss } from './link.js';
import type { Mender } from './mender.js';
import type { Shares } from './shares.js';

export interface UpkeepParts {
  readonly client: RedisClient;
  readonly clock: Clock;
  /** At least so many are taken to share the limits. */
  readonly expectedInstances: number;
  /** Name of this one. */
  readonly instance: string;
  readonly exact: Exact;
  readonly link: Link;
  readonly mender: Mender;
  readonly shares: Shares;
  tell(code: StoreNotice['code'], message: string): void;
}

/** Instances say that they live so often, and count for so long after their last word, in milliseconds. */
const BEAT_MS = 2_000;
const ALIVE_MS = 35_000;
/** Redis is asked again so often while it is away, up to twice as long while it does not answer, in milliseconds. */
const PROBE_MS = 500;
/**
 * Good answers in a row before the common counts decide again, where there are other instances: each must have told what it spent
 * alone. All of them look for Redis every second; after a loss one may only notice with its next beat.
 */
const GOOD_ANSWERS = 3;
const GOOD_ANSWERS_AFTER_LOSS = BEAT_MS / PROBE_MS + GOOD_ANSWERS;

/** Looks after Redis by a timer: says that this instance lives, tells what Redis lacks, and finds out when it is back. */
export class Upkeep {
  readonly #parts: UpkeepParts;
  #instances: number;
  #hasStarted = false;
  #isClosed = false;
  /** While Redis is away: how many good answers are missing. */
  #missing = 0;
  #timer: { readonly dueMs: number; readonly stop: Cancel } | undefined;
  #isLooking = false;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
    this.#instances = parts.expectedInstances;
  }

  /** Instances that shared the counts when Redis was last heard. */
  get instances(): number {
    return this.#instances;
  }

  get isAway(): boolean {
    return !this.#parts.link.isOpen;
  }

  /** With the first request: a store that is never asked has no timer. */
  start(): void {
    if (this.#hasStarted || this.#isClosed) return;
    this.#hasStarted = true;
    checkServer(this.#parts.client).then(
      (faults) => {
        for (const fault of faults) this.#parts.tell('setting', fault);
      },
      () => {},
    );
    void this.#beat().catch(() => {});
    this.#schedule(BEAT_MS);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.stop();
    this.#timer = undefined;
  }

  /** There is something to tell. */
  soon(): void {
    if (!this.isAway) this.#schedule(PROBE_MS);
  }

  /** Looks after Redis in so long, or sooner when that is due already. */
  #schedule(ms: number): void {
    if (this.#isClosed) return;
    const { clock } = this.#parts;
    const dueMs = clock.now() + ms;
    if (this.#timer && this.#timer.dueMs <= dueMs) return;
    this.#timer?.stop();
    const stop = clock.after(ms, () => {
      this.#timer = undefined;
      void this.#look();
    });
    this.#timer = { dueMs, stop };
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return this.#schedule(PROBE_MS);
    this.#isLooking = true;
    const wasAway = this.isAway;
    const isAnswered = await this.#beatAndMend(wasAway);
    if (isAnswered && wasAway && --this.#missing <= 0) await this.#comeBack();
    this.#isLooking = false;
    if (this.isAway) this.#schedule(isAnswered ? PROBE_MS : PROBE_MS * (1 + random()));
    else this.#schedule(this.#parts.mender.hasMore ? PROBE_MS : BEAT_MS);
  }

  async #beatAndMend(wasAway: boolean): Promise<boolean> {
    try {
      await this.#beat();
      await this.#parts.mender.mend();
      return true;
    } catch (error) {
      if (wasAway) this.#missing = Math.max(this.#missing, this.#peersAnswers(GOOD_ANSWERS));
      else this.#parts.link.failed(error);
      return false;
    }
  }

  async #comeBack(): Promise<void> {
    this.#parts.link.resume();
    this.#parts.shares.endGrants();
    this.#parts.tell('back', 'Redis answers again, and was told what was spent without it');
    // What was decided while it was being told.
    await this.#parts.mender
      .mend()
      .then(() => this.#parts.mender.renewAll())
      .catch((error) => this.#parts.link.failed(error));
  }

  async #beat(): Promise<void> {
    const { instances } = await this.#parts.link.beat(() => this.#parts.exact.beat(this.#parts.instance, ALIVE_MS));
    // After an outage the others may not have had their turn.
    const least = this.isAway ? this.#instances : this.#parts.expectedInstances;
    this.#instances = Math.max(least, instances);
  }

  /** @param isLast - nobody is asked any more from now on */
  failed(error: unknown, isLast: boolean): void {
    if (this.#isClosed) return;
    if (!isLast) {
      this.#schedule(PROBE_MS);
      return;
    }
    const reason = error instanceof Error ? error.message : String(error);
    this.#missing = this.#peersAnswers(GOOD_ANSWERS);
    this.#parts.tell('away', `Redis does not answer (${reason}); each instance decides by the onStoreError of its budgets`);
    this.#schedule(PROBE_MS * (1 + random()));
  }

  lost(loss: Loss): void {
    this.#parts.mender.lost(loss);
    this.#schedule(0);
    if (loss === 'recent') {
      this.#parts.tell('lost', 'Redis has lost its last moments; what this instance did in them is told to it anew');
      return;
    }
    // Until this and the other instances have told theirs, the counts are too low for anybody to go by.
    this.#parts.link.suspend();
    this.#missing = this.#peersAnswers(GOOD_ANSWERS_AFTER_LOSS);
    this.#parts.tell(
      'lost',
      'Redis has lost its counts; every instance tells it anew what it spent, and decides for itself meanwhile',
    );
  }

  #peersAnswers(answers: number): number {
    return this.#instances > 1 ? answers : 1;
  }
}

/** From 0 to 1. Nobody has to be able to repeat it, and instances must not agree. */
export const random = (): number => randomInt(2 ** 32) / 2 ** 32;
