// What loading o200k_base takes, in a process of its own: `spillway`, `js-tiktoken` or `gpt-tokenizer`. Run by bench/tokens.ts.
import { monitorEventLoopDelay } from 'node:perf_hooks';

const LOAD: Readonly<Record<string, () => Promise<(text: string) => number>>> = {
  spillway: async () => {
    const { createTokenizer } = await import('../src/tokens/tokenizer.js');
    const tokenizer = createTokenizer();
    await tokenizer.ready(['o200k_base']);
    return (text) => tokenizer.count(text, 'o200k_base');
  },
  'js-tiktoken': async () => {
    const { Tiktoken } = await import('js-tiktoken/lite');
    const encoder = new Tiktoken((await import('js-tiktoken/ranks/o200k_base')).default);
    return (text) => encoder.encode(text, [], []).length;
  },
  'gpt-tokenizer': async () => {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
    return (text) => countTokens(text);
  },
};

const load = LOAD[process.argv[2] ?? ''];
if (!load) throw new TypeError(`tokens-load takes one of: ${Object.keys(LOAD).join(', ')}`);
const used = (): number => {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};
const before = used();
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const startedAtMs = performance.now();
const count = await load();
const ms = performance.now() - startedAtMs;
await new Promise((resolve) => setImmediate(resolve));
delay.disable();
const tokens = count('hello world');
process.send?.({ ms, bytes: used() - before, longestMs: delay.max / 1e6, tokens });
