import { FairSample } from './fair-sample.js';
import { ascending, upperQuantile } from './quantile.js';

/** Nothing is held for less, however short the answers were: many calls at once may all have a long one. */
const LEAST_EXPECTED = 128;
/** What those are held for at most who have no record of their own: others' long answers must not shut them out. */
const MOST_OF_OTHERS = 4_096;

/**
 * What is learned about the output of one route and model: the quantile of a bounded sample of the latest answers, taken by sorting.
 * A histogram or a P-square would be smaller, but could not tell tenants apart, and follows a change more slowly than a window does.
 */
export class OutputExpectation {
  readonly #sample = new FairSample();
  readonly #afterCalls: number;
  readonly #coveredRatio: number;
  #shared: number | undefined;
  #own: ReadonlyMap<number, number> = new Map();
  #sinceFit = 0;

  /**
   * @param afterCalls - answers before which nothing is known
   * @param coveredRatio - share of answers that are to be no longer than expected
   */
  constructor(afterCalls: number, coveredRatio: number) {
    this.#afterCalls = afterCalls;
    this.#coveredRatio = coveredRatio;
  }

  /** Answers that were learned from. */
  get calls(): number {
    return this.#sample.added;
  }

  /** Tokens that one choice will probably take at most, whoever asks; `undefined`: not known yet. */
  get shared(): number | undefined {
    return this.#shared;
  }

  /** The same for a tenant: by its own answers where there are enough of them, whatever others' were. */
  expected(tenant: number): number | undefined {
    if (this.#shared === undefined) return undefined;
    return Math.max(LEAST_EXPECTED, this.#own.get(tenant) ?? Math.min(MOST_OF_OTHERS, this.#shared));
  }

  /** Notes what one choice really took. */
  add(tenant: number, tokens: number): void {
    this.#sample.add(tenant, Math.max(1, tokens));
    this.#sinceFit++;
    if (this.calls < this.#afterCalls || !this.#sample.isWorthFitting(this.#sinceFit)) return;
    this.#sinceFit = 0;
    this.#fit();
  }

  /** Without the tenant that has most of the longest answers, where others have given enough: alone it moves nobody else. */
  #fit(): void {
    const { tenants, mostOfOne } = this.#sample;
    const latest = [...tenants].map(([tenant, { values }]) => ({ tenant, values: values.slice(-mostOfOne) }));
    const all = this.#quantileOf(latest.flatMap(({ values }) => values));
    let most = 0;
    let widest: number | undefined;
    for (const { tenant, values } of latest) {
      const above = values.reduce((count, tokens) => count + (tokens >= all ? 1 : 0), 0);
      if (above > most) [most, widest] = [above, tenant];
    }
    const rest = latest.flatMap(({ tenant, values }) => (tenant === widest ? [] : values));
    this.#shared = rest.length >= this.#afterCalls ? this.#quantileOf(rest) : all;
    const own = new Map<number, number>();
    for (const [tenant, { values }] of tenants) if (values.length >= this.#afterCalls) own.set(tenant, this.#quantileOf(values));
    this.#own = own;
  }

  #quantileOf(values: readonly number[]): number {
    return Math.ceil(upperQuantile(ascending(values), this.#coveredRatio));
  }
}
