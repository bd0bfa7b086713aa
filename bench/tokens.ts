// Counting tokens beside js-tiktoken and gpt-tokenizer, in one run: fresh text each round, caches cold.
// Run: npx tsx bench/tokens.ts [seed]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { Tiktoken } from 'js-tiktoken/lite';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { createAllowance } from '../src/tokens/allowance.js';
import { createTokenizer, type Tokenizer } from '../src/tokens/tokenizer.js';
import { ENCODING, failures, forget, goal, KILO, median, random, seed, shared, timed, unlimited } from './token-rounds.js';
import { flat, TEXTS } from './token-texts.js';
import { measureHostile } from './tokens-hostile.js';

const ROUNDS = 11;
const WARM_UP = 3;
const LENGTH = 40_000;
const TURNS = 40;
const TURN_LENGTH = 1_200;
const CONVERSATIONS = 15;
const LOADS = 5;

const oracle = new Tiktoken(o200k);
await shared.ready([ENCODING]);

console.log(`seed ${seed}`);
console.log(
  `Tokens of ${LENGTH / KILO},000 characters, ${ENCODING}, caches cold; MB/s of UTF-8, medians of ${ROUNDS} interleaved rounds`,
);
console.log('text          spillway  js-tiktoken  gpt-tokenizer   x js-tiktoken   x gpt-tokenizer');
for (const [kind, make] of Object.entries(TEXTS)) {
  const rates: Record<'own' | 'tiktoken' | 'gpt', number[]> = { own: [], tiktoken: [], gpt: [] };
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const text = make(random, LENGTH);
    const parsed = flat(text);
    const bytes = Buffer.byteLength(text);
    const tokenizer = forget();
    const [ownMs, own] = timed(() => tokenizer.count(parsed, ENCODING, unlimited()));
    const [tiktokenMs, tiktoken] = timed(() => oracle.encode(text, [], []).length);
    const [gptMs] = timed(() => countTokens(text));
    if (own !== tiktoken) failures.push(`${kind}: ${own} tokens instead of ${tiktoken}`);
    if (round < 0) continue;
    rates.own.push(bytes / ownMs / KILO);
    rates.tiktoken.push(bytes / tiktokenMs / KILO);
    rates.gpt.push(bytes / gptMs / KILO);
  }
  const [own, tiktoken, gpt] = [median(rates.own), median(rates.tiktoken), median(rates.gpt)];
  const isMet = own >= (kind === 'base64' ? 5 : 10) * tiktoken && own >= 2 * gpt;
  console.log(
    `${kind.padEnd(12)} ${own.toFixed(1).padStart(9)} ${tiktoken.toFixed(2).padStart(12)} ${gpt.toFixed(2).padStart(14)} ${(own / tiktoken).toFixed(1).padStart(15)} ${(own / gpt).toFixed(1).padStart(17)}   ${goal(isMet, kind)}`,
  );
}

interface Loaded {
  readonly ms: number;
  readonly bytes: number;
  readonly longestMs: number;
}
async function load(name: string): Promise<Loaded> {
  const path = fileURLToPath(new URL('./tokens-load.ts', import.meta.url));
  const child = fork(path, [name], { execArgv: ['--expose-gc', '--import', 'tsx'] });
  const [loaded] = (await once(child, 'message')) as [Loaded];
  await once(child, 'exit');
  return loaded;
}

console.log(`\nLoading ${ENCODING} in a process of its own, medians of ${LOADS}`);
const loads = new Map<string, Loaded[]>();
for (let round = 0; round < LOADS; round++)
  for (const name of ['spillway', 'js-tiktoken', 'gpt-tokenizer'])
    loads.set(name, [...(loads.get(name) ?? []), await load(name)]);
const of = (name: string, key: keyof Loaded): number => median((loads.get(name) ?? []).map((loaded) => loaded[key]));
for (const name of loads.keys()) {
  const megabytes = of(name, 'bytes') / KILO / KILO;
  console.log(
    `${name.padEnd(14)} ${of(name, 'ms').toFixed(0)} ms, ${megabytes.toFixed(0)} MB of heap and buffers, longest block ${of(name, 'longestMs').toFixed(0)} ms`,
  );
}
for (const key of ['ms', 'bytes'] as const) {
  const ratio = of('spillway', key) / of('js-tiktoken', key);
  console.log(
    `${key === 'ms' ? 'time' : 'memory'}: ${ratio.toFixed(2)} of js-tiktoken's; goal: at most 0.5: ${goal(ratio <= 0.5, `loading, ${key}`)}`,
  );
}

console.log(`\nA conversation of ${TURNS} turns of ${TURN_LENGTH} characters, all of it counted at every turn`);
const shares: number[] = [];
for (let round = -1; round < CONVERSATIONS; round++) {
  const texts = Array.from({ length: TURNS }, () => (TEXTS.English as (typeof TEXTS)[string])(random, TURN_LENGTH));
  const remembering = forget();
  const sum = (tokenizer: () => Tokenizer) => {
    let ms = 0;
    for (let turn = 1; turn <= TURNS; turn++) {
      const parsed = texts.slice(0, turn).map(flat);
      const used = tokenizer();
      const allowance = createAllowance();
      ms += timed(() => parsed.reduce((total, text) => total + used.count(text, ENCODING, allowance), 0))[0];
    }
    return ms;
  };
  const againMs = sum(createTokenizer);
  const rememberedMs = sum(() => remembering);
  if (round >= 0) shares.push(rememberedMs / againMs);
}
console.log(
  `remembered: ${median(shares).toFixed(3)} of counting all again; goal: at most 0.1: ${goal(median(shares) <= 0.1, 'conversation')}`,
);

measureHostile();

if (failures.length > 0) console.log(`\nmissed: ${failures.join('; ')}`);
process.exitCode = failures.length > 0 ? 1 : 0;
