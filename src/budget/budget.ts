import type { OnStoreError, Window } from '../stores/store.js';

/** A window's name or its length in milliseconds (1,000 or more). `call` caps one call; `day` and `month` are calendar ones. */
export type Per = 'second' | 'minute' | 'hour' | 'day' | 'month' | 'call' | number;

/** What a budget counts. `usd` is money; `concurrent` is what runs at the same time. */
export type Dimension = 'tokens' | 'inputTokens' | 'outputTokens' | 'requests' | 'usd' | 'concurrent';

interface BudgetCommon {
  /** Tells two budgets of one scope apart when all else is equal, and names the budget in errors and events. */
  readonly name?: string;
  /** Counts only calls on these models. @defaultValue every model */
  readonly models?: readonly string[];
  /**
   * `always` refuses when full. `when-saturated` refuses only while the shared model and global budgets were last seen
   * above `softUntilRatio`. `never` counts and reports, and is left out of waits and headers. @defaultValue `'always'`
   */
  readonly enforce?: 'always' | 'when-saturated' | 'never';
  /**
   * What happens while a shared store does not answer. `local-share`: each instance admits its share of the limit. `last-seen`: half its
   * share of what was left when the store last told, and nothing where it never did. `closed` refuses, `open` only counts.
   * @defaultValue `'local-share'`, for money `'last-seen'`
   */
  readonly onStoreError?: OnStoreError;
}

interface Windowed {
  /** The window: a name, or milliseconds from 1,000 on. */
  readonly per: Per;
  /** IANA name; only for `day` and `month`. @defaultValue `'UTC'` */
  readonly timeZone?: string;
}

/** One dimension, and none of the others: two of them are two budgets. */
type Only<D extends Dimension> = { readonly [Other in Exclude<Dimension, D>]?: undefined } & { readonly [Own in D]: number };

/** One limit: exactly one of the dimensions, with its window. */
export type BudgetOptions = BudgetCommon &
  (
    | (Only<'tokens'> & Windowed)
    | (Only<'inputTokens'> & Windowed)
    | (Only<'outputTokens'> & Windowed)
    | (Only<'requests'> & Windowed)
    | (Only<'usd'> & Windowed)
    | (Only<'concurrent'> & { readonly [Never in keyof Windowed]?: undefined })
  );

/** A budget, checked and resolved. Frozen. */
export interface Budget {
  readonly dimension: Dimension;
  /** Tokens, requests, micro-dollars or running calls; a whole number, headroom already taken off; `Infinity`: unlimited. */
  readonly limit: number;
  /** `undefined` for `per: 'call'`, which needs no counter. */
  readonly window: Window | undefined;
  readonly models: ReadonlySet<string> | undefined;
  readonly name: string | undefined;
  readonly enforce: 'always' | 'when-saturated' | 'never';
  readonly onStoreError: OnStoreError;
  /** Dimension, window, models and name, encoded: with scope and key the identity of the counter; never the limit. */
  readonly suffix: string;
}

/** Dollars per million tokens, and per call. */
export interface Price {
  readonly input: number;
  /** @defaultValue the price of input */
  readonly cachedInput?: number;
  /** @defaultValue the price of input */
  readonly cacheWrite?: number;
  readonly output: number;
  /** Dollars per call. @defaultValue 0 */
  readonly perRequest?: number;
}
