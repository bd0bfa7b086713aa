// Compares counts with js-tiktoken's on generated strings: exit code 1 if any differs.
// Run: npx tsx scripts/count-strings.ts [strings, 1,000,000 unless given] [seed, by the clock unless given] [most seconds, 900]
import { Tiktoken } from 'js-tiktoken/lite';
import { createAllowance } from '../src/tokens/allowance.js';
import type { EncodingName } from '../src/tokens/encodings.js';
import { createTokenizer } from '../src/tokens/tokenizer.js';
import { createRandom, randomText } from '../test/support/random-texts.js';

/** The older two share everything but their tokens with each other, and few still call their models. */
const EVERY: Readonly<Record<EncodingName, number>> = { o200k_base: 1, cl100k_base: 1, p50k_base: 10, r50k_base: 10 };
const SHOWN = 10;
const REPORT_MS = 30_000;

const count = Number(process.argv[2] ?? 1_000_000);
const seed = Number(process.argv[3] ?? Date.now() % 1_000_000_000);
const mostMs = Number(process.argv[4] ?? 900) * 1_000;
if (![count, seed, mostMs].every(Number.isFinite))
  throw new TypeError('count-strings takes numbers: [strings] [seed] [most seconds]');

const encodings = Object.keys(EVERY) as EncodingName[];
const tokenizer = createTokenizer();
await tokenizer.ready(encodings);
const oracles = new Map<EncodingName, Tiktoken>();
for (const encoding of encodings) oracles.set(encoding, new Tiktoken((await import(`js-tiktoken/ranks/${encoding}`)).default));

console.log(`seed ${seed}: ${count.toLocaleString('en')} strings, at most ${mostMs / 1_000} s`);
const random = createRandom(seed);
const compared = new Map<EncodingName, number>(encodings.map((encoding) => [encoding, 0]));
let characters = 0;
let mismatches = 0;
let done = 0;
const startedAtMs = performance.now();
const elapsedMs = () => performance.now() - startedAtMs;
const report = () => {
  const counts = [...compared].map(([encoding, times]) => `${encoding} ${times.toLocaleString('en')}`).join(', ');
  const rate = Math.round((done * 1_000) / elapsedMs());
  console.log(
    `${done.toLocaleString('en')} strings of ${(characters / done).toFixed(0)} characters (${counts}): ${mismatches} mismatches, ${rate} strings/s`,
  );
};

for (let reportAtMs = REPORT_MS; done < count && elapsedMs() < mostMs; ) {
  const text = randomText(random);
  for (const encoding of encodings) {
    if (done % EVERY[encoding] !== 0) continue;
    const counted = tokenizer.count(text, encoding, createAllowance());
    const real = oracles.get(encoding)?.encode(text, [], []).length;
    compared.set(encoding, (compared.get(encoding) ?? 0) + 1);
    if (counted === real) continue;
    if (mismatches++ < SHOWN) console.log(`${encoding}: ${counted} instead of ${real} for ${JSON.stringify(text)}`);
  }
  characters += text.length;
  done++;
  if (elapsedMs() < reportAtMs) continue;
  report();
  reportAtMs += REPORT_MS;
}
report();
if (done < count) console.log('out of time');
process.exitCode = mismatches > 0 || done === 0 ? 1 : 0;
