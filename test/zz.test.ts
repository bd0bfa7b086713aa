import { inspect } from 'node:util';
import fc from 'fast-check';
import OpenAI from 'openai';
import { expect, it } from 'vitest';
import { cachedAnswer, cheaperModel, type EventName, queue, staticAnswer } from '../src/index.js';
import { until } from './support/loopback.js';
import { chat, createOutbound } from './support/outbound.js';
import type { ScriptEntry } from './support/provider.js';
import { serve } from './support/served.js';

const EVENTS: readonly EventName[] = [
  'call-admitted',
  'call-refused',
  'step-skipped',
  'reservation-settled',
  'call-shed',
  'request-answered',
  'call-unseen',
  'context-missing',
  'identity-missing',
  'store-failed',
  'store-notice',
];

/** What must be found nowhere: long enough to come from nowhere else. */
const marker = fc.string({ minLength: 12, maxLength: 24, unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz') });
const secrets = fc.record({ prompt: marker, key: marker, apiKey: marker, said: marker, field: marker, tool: marker });
const others = fc.array(
  fc.record({
    secrets,
    /** What becomes of the request. */
    fate: fc.constantFrom<ScriptEntry[]>('none', '429', '500', 'reset', 'garbage-usage'),
    kind: fc.constantFrom('chat', 'stream', 'tools', 'again', 'unread', 'nobody', 'huge', 'broken'),
  }),
  { minLength: 3, maxLength: 7 },
);

it('no prompt, key or answer is in a log line, an event or a header, whatever becomes of a request', {
  timeout: 250_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(secrets, others, async (first, rest) => {
      const told: string[] = [];
      const tell = (...given: unknown[]) => told.push(JSON.stringify(given), inspect(given, { depth: 20 }));
      const outbound = await createOutbound(
        {
          models: {
            'gpt-4o': {
              budgets: [
                { requests: 2, per: 'hour' },
                { tokens: 3_000, per: 'hour' },
              ],
              cheaper: ['gpt-4o-mini'],
            },
            'gpt-4o-mini': { budgets: [{ requests: 1, per: 'hour' }] },
          },
          scopes: { user: { budgets: [{ tokens: 3_000, per: 'hour' }] } },
          ladder: [queue({ waitMs: 1 }), cachedAnswer(), cheaperModel(), staticAnswer(first.said)],
          logger: { info: tell, warn: tell },
        },
        { outputTokens: 30 },
      );
      for (const name of EVENTS) outbound.gate.on(name, (event) => tell(name, event));
      let apiKey = '';
      const served = await serve(outbound.gate, { budgets: { user: [{ requests: 6, per: 'hour' }] } }, async (req, res) => {
        const openai = new OpenAI({ baseURL: outbound.provider.url, apiKey, fetch: outbound.gate.fetch, maxRetries: 0 });
        if (req.body.text) return res.json({ reply: req.body.text });
        if (!req.body.stream) return res.json(await openai.chat.completions.create(req.body));
        const asked = req.body as OpenAI.ChatCompletionCreateParamsStreaming;
        for await (const chunk of await openai.chat.completions.create(asked)) res.write(`data: ${JSON.stringify(chunk)}\n\n`);
        return res.end();
      });

      const spoken: string[] = [];
      for (const { secrets, fate, kind } of [{ secrets: first, fate: 'none' as const, kind: 'chat' }, ...rest]) {
        apiKey = secrets.apiKey;
        spoken.push(...Object.values(secrets));
        outbound.provider.script([fate]);
        const headers = { 'content-type': 'application/json', authorization: `Bearer ${secrets.apiKey}`, 'x-user': secrets.key };
        if (kind === 'nobody') Reflect.deleteProperty(headers, 'x-user');
        const body = JSON.stringify(bodyOf(kind, secrets, first.prompt));
        const response = await served.ask(secrets.key, {}, { headers, body: kind === 'broken' ? body.slice(0, -2) : body });
        tell(...response.headers);
        await response.text().catch(() => {});
      }
      await until(async () => (await outbound.gate.snapshot()).openRequests === 0);
      await outbound.sums();
      tell(await outbound.gate.snapshot());
      await served.close();
      await outbound.close();

      const all = told.join('\n');
      expect(all).toContain('request-answered');
      expect(spoken.filter((secret) => all.includes(secret))).toEqual([]);
    }),
    { numRuns: 300, timeout: 20_000 },
  );
});

function bodyOf(kind: string, { prompt, field, tool }: { prompt: string; field: string; tool: string }, first: string): object {
  switch (kind) {
    case 'unread':
      return { text: prompt, [field]: field };
    case 'stream':
      return chat(prompt, { stream: true, user: field });
    case 'tools':
      return chat(prompt, { tools: [{ type: 'function', function: { name: tool, description: field } }] });
    case 'again':
      return chat(first);
    case 'huge':
      return chat(`${prompt} `.repeat(2_000), { [field]: field });
    default:
      return chat(prompt, { metadata: { [field]: field } });
  }
}
