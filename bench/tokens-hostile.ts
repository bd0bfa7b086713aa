// How long texts and bodies that are made to take long hold the event loop, and how far off their estimates are. Run by bench/tokens.ts.
import { createAllowance } from '../src/tokens/allowance.js';
import { ENCODING, forget, goal, KILO, median, random, shared, timed, unlimited } from './token-rounds.js';
import { flat, HOSTILE, type MakeText, TEXTS } from './token-texts.js';

const ROUNDS = 5;
const SIZES = [250 * KILO, KILO * KILO] as const;
/** Most that one body may hold the event loop, in milliseconds. */
const GOAL_MS = 10;
/** Linear: four times the text takes no more than this. */
const MOST_GROWTH = 4.5;

interface Held {
  readonly coldMs: number;
  /** The same body again. */
  readonly warmMs: number;
  /** Of the estimate, against counting everything; the worst of all rounds. */
  readonly error: number;
}

/** As one body, whose texts share an allowance. */
function hold(makeTexts: () => readonly string[]): Held {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const texts = makeTexts();
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    const whole = texts.reduce((sum, text) => sum + shared.count(text, ENCODING, unlimited()), 0);
    const tokenizer = forget();
    const estimate = () => {
      const parsed = texts.map(flat);
      const allowance = createAllowance(length);
      return timed(() => parsed.reduce((sum, text) => sum + tokenizer.count(text, ENCODING, allowance), 0));
    };
    const [coldMs, tokens] = estimate();
    return { coldMs, warmMs: estimate()[0], error: whole === 0 ? tokens : tokens / whole - 1 };
  });
  return {
    coldMs: median(rounds.map(({ coldMs }) => coldMs)),
    warmMs: median(rounds.map(({ warmMs }) => warmMs)),
    error: rounds.map(({ error }) => error).reduce((worst, error) => (Math.abs(error) > Math.abs(worst) ? error : worst)),
  };
}

/** A text of that many bytes of UTF-8. */
function ofBytes(make: MakeText, bytes: number): string {
  const sample = make(random, bytes / 8);
  return make(random, (bytes * sample.length) / Buffer.byteLength(sample));
}

function many(make: MakeText, count: number, length: number): string[] {
  const all = make(random, 2_000_000);
  return Array.from({ length: count }, (_, index) =>
    all.slice((index * length) % 1_000_000, ((index * length) % 1_000_000) + length),
  );
}

const BODIES: Readonly<Record<string, () => readonly string[]>> = {
  'one text of 10 MB': () => [(TEXTS.English as MakeText)(random, 10_000_000)],
  '50,000 empty texts': () => Array.from({ length: 50_000 }, () => ''),
  '100,000 texts of 5 characters': () => many(TEXTS.English as MakeText, 100_000, 5),
  '100,000 texts of 100 characters': () => many(TEXTS.English as MakeText, 100_000, 100),
  '2,000 texts of 1,000 Chinese characters': () => many(TEXTS.Chinese as MakeText, 2_000, 1_000),
  '600 texts of 16,400 characters': () => many(TEXTS.English as MakeText, 600, 16_400),
  '600,000 of English, then 40 x 10,000 of rare Han': () => [
    (TEXTS.English as MakeText)(random, 600_000),
    ...many(HOSTILE['rare Han characters'] as MakeText, 40, 10_000),
  ],
};

const ms = (value: number): string => value.toFixed(1).padStart(8);
const percent = (share: number): string => `${(100 * share).toFixed(2).padStart(7)} %`;

export function measureHostile(): void {
  console.log(
    `\nMade to take long: milliseconds that counting holds the event loop, medians of ${ROUNDS}, caches cold, then the same again`,
  );
  console.log('one text                   250 kB     1 MB    again  growth     error');
  for (const [kind, make] of Object.entries(HOSTILE)) {
    const [small, large] = SIZES.map((bytes) => hold(() => [ofBytes(make, bytes)])) as [Held, Held];
    const growth = large.coldMs / small.coldMs;
    const isMet = large.coldMs <= GOAL_MS && growth <= MOST_GROWTH;
    console.log(
      `${kind.padEnd(24)} ${ms(small.coldMs)} ${ms(large.coldMs)} ${ms(large.warmMs)} ${growth.toFixed(1).padStart(7)} ${percent(large.error)}  ${goal(isMet, kind)}`,
    );
  }
  console.log('\none body                                                cold    again     error');
  for (const [kind, makeTexts] of Object.entries(BODIES)) {
    const held = hold(makeTexts);
    console.log(`${kind.padEnd(50)} ${ms(held.coldMs)} ${ms(held.warmMs)} ${percent(held.error)}`);
  }
}
