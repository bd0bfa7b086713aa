import type { Clock } from '../../clock.js';
import { createBreaker } from './breaker.js';
import { type Answered, DecisionFailed } from './decisions.js';
import { epochOf } from './exact.js';
import { waitForAnswer } from './wait-for-answer.js';

/** What Redis has lost: `all`, when its counts begin anew; `recent`, when they went back a little. */
export type Loss = 'all' | 'recent';

export interface LinkParts {
  readonly clock: Clock;
  /** How long an answer is waited for, in milliseconds. */
  readonly timeoutMs: number;
  /** Told at once, before whoever asked gets the answer that shows it. */
  onLoss(loss: Loss): void;
  /** @param isLast - nobody is asked any more from now on */
  onFailure(error: unknown, isLast: boolean): void;
}

/** Mending is nobody's request: it may take longer than one. */
const TRIES = 3;

/** Asks Redis: in time, only while it answers, and with an ear for what answers say of counts that were lost. */
export class Link {
  readonly #parts: LinkParts;
  readonly #breaker = createBreaker();
  #seq = 0;
  #run = 0;

  constructor(parts: LinkParts) {
    this.#parts = parts;
  }

  get isOpen(): boolean {
    return !this.#breaker.isOpen;
  }

  /** Asks for somebody who waits for the answer: what fails counts towards asking nobody any more. */
  async ask<T extends Answered | undefined>(command: () => Promise<T>): Promise<T> {
    const seenSeq = this.#seq;
    try {
      const answer = await this.inTime(command());
      this.#breaker.succeeded(this.#parts.clock.now());
      if (answer) this.#hear(answer.seq, seenSeq);
      return answer;
    } catch (error) {
      // One counter that cannot be read is no reason to ask nobody any more.
      if (!(error instanceof DecisionFailed)) this.failed(error);
      throw error;
    }
  }

  /**
   * Tells something that is meant for the counts as they are known now, some times if need be.
   * @throws when these counts are lost meanwhile: what has to be told is another thing then
   */
  async tell<T extends Answered>(command: (epoch: number) => Promise<T>): Promise<T> {
    const epoch = epochOf(this.#seq);
    for (let tries = 1; ; tries++) {
      const seenSeq = this.#seq;
      let answer: T;
      try {
        answer = await this.inTime(command(epoch));
      } catch (error) {
        if (tries === TRIES) throw error;
        continue;
      }
      this.#hear(answer.seq, seenSeq);
      if (epochOf(answer.seq) !== epoch || !this.isOfNow(answer.seq))
        throw new Error('Redis has lost its counts while it was told what it lacked');
      return answer;
    }
  }

  /** Asks who answers. Another process may have lost the last moments, however far its counts have come since. */
  async beat<T extends Answered & { readonly run: number }>(command: () => Promise<T>): Promise<T> {
    const seenSeq = this.#seq;
    const answer = await this.inTime(command());
    this.#hear(answer.seq, seenSeq);
    if (answer.run === 0) return answer;
    const isAnother = this.#run !== 0 && answer.run !== this.#run;
    this.#run = answer.run;
    if (isAnother) this.#parts.onLoss('recent');
    return answer;
  }

  inTime<T>(answer: Promise<T>, timeoutMs = this.#parts.timeoutMs): Promise<T> {
    const { clock } = this.#parts;
    return new Promise((resolve, reject) => {
      const stop = waitForAnswer(clock, timeoutMs, reject);
      answer.then(
        (value) => {
          stop();
          resolve(value);
        },
        (error) => {
          stop();
          reject(error);
        },
      );
    });
  }

  /** Whether an answer is of the counts as they are known now, and not of some that were lost since. */
  isOfNow(seq: number): boolean {
    return seq <= this.#seq && epochOf(seq) === epochOf(this.#seq);
  }

  failed(error: unknown): void {
    this.#parts.onFailure(error, this.#breaker.failed(this.#parts.clock.now()));
  }

  /** Asks nobody until `resume`. */
  suspend(): void {
    this.#breaker.open();
  }

  resume(): void {
    this.#breaker.close();
  }

  /** @param seenSeq - what was known before the command was sent: less can only be told by counts that have forgotten */
  #hear(seq: number, seenSeq: number): void {
    const isKnown = epochOf(seq) === epochOf(this.#seq);
    const isLost = seenSeq > 0 && (seq < seenSeq || epochOf(seq) !== epochOf(seenSeq));
    // Another answer may have told of the loss already; one that was sent before it, and comes after it, tells nothing new.
    if (isLost && this.#seq >= seenSeq && epochOf(this.#seq) === epochOf(seenSeq)) {
      this.#seq = seq;
      // The numbers have told: that another process answers is no further loss.
      this.#run = 0;
      this.#parts.onLoss(isKnown ? 'recent' : 'all');
    } else if (this.#seq === 0 || isKnown) this.#seq = Math.max(this.#seq, seq);
  }
}
