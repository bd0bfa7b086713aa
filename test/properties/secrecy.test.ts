import { once } from 'node:events';
import { inspect } from 'node:util';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { spillway } from '../../adapters/express.js';
import { cachedAnswer, cheaperModel, createSpillway, type EventName, staticAnswer } from '../../src/index.js';
import { completion } from '../support/chat.js';
import { begin, type Reply, send } from '../support/http-client.js';
import { listen, until } from '../support/loopback.js';

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
const OUTCOMES = ['passed', 'cached', 'cheaper', 'static', 'shed'];

/** What must be found nowhere: long enough to come from nowhere else. */
const marker = fc.string({ minLength: 12, maxLength: 20, unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz') });
/** Keys of callers: what an application has, secrets that it should have hashed among them. */
const key = fc
  .tuple(fc.constantFrom('', 'sk-', 'sk-ant-api03-', 'Bearer ', 'Bearer sk-proj-', '{', 'mail@'), marker)
  .map(([prefix, text]) => ({ key: prefix + text, text }));
/** Figures of one tenant that no other has: eight digits. */
const figure = fc.integer({ min: 10_000_000, max: 99_999_999 });

const tenants = fc
  .tuple(
    fc.uniqueArray(key, { minLength: 3, maxLength: 3, selector: ({ text }) => text }),
    fc.uniqueArray(figure, { minLength: 5, maxLength: 5 }),
  )
  .map(([keys, [shared, everybody, ...limits]]) => ({
    shared: shared as number,
    everybody: everybody as number,
    own: keys.map(({ key, text }, index) => ({ key, text, limit: limits[index] as number })),
  }));
const KINDS = [
  'chat',
  'again',
  'tools',
  'claude',
  'response',
  'stream',
  'unknown model',
  'unread',
  'huge',
  'broken',
  'left',
] as const;
type Kind = (typeof KINDS)[number];
/** One request of each kind at least, in any order, by anybody. */
const requests = fc.tuple(
  fc.shuffledSubarray([...KINDS, ...KINDS], { minLength: 2 * KINDS.length }),
  fc.array(fc.record({ tenant: fc.nat(2), said: marker, field: marker, tool: marker, token: marker }), {
    minLength: 2 * KINDS.length + 1,
    maxLength: 2 * KINDS.length + 1,
  }),
);
type Said = { readonly said: string; readonly field: string; readonly tool: string };

const seen = new Set<string>();
afterAll(() => {
  // A property over outcomes that never came about would say nothing.
  expect([...OUTCOMES].filter((outcome) => !seen.has(outcome))).toEqual([]);
});

it('no prompt, key, secret or figure of another tenant is in a header, an error, an event or a log line, whatever becomes of a request', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(tenants, requests, async ({ own, shared, everybody }, [kinds, givens]) => {
      const told: string[] = [];
      const tell = (...given: unknown[]) => told.push(JSON.stringify(given), inspect(given, { depth: 20 }));
      const gate = createSpillway({
        models: {
          'gpt-4o': {
            budgets: [
              { requests: 3, per: 'hour' },
              { tokens: shared, per: 'hour' },
            ],
            cheaper: ['gpt-4o-mini'],
          },
          'gpt-4o-mini': { budgets: [{ requests: 3, per: 'hour' }] },
          'claude-sonnet-4-5': { budgets: [{ requests: 1, per: 'hour' }] },
        },
        scopes: {
          global: { budgets: [{ tokens: everybody, per: 'hour' }] },
          user: {
            budgets: (user) => [
              { tokens: own.find((tenant) => tenant.key === user)?.limit ?? 1, per: 'hour' },
              { requests: 30, per: 'hour' },
            ],
          },
        },
        ladder: [cachedAnswer(), cheaperModel(), staticAnswer('busy')],
        logger: { info: tell, warn: tell },
      });
      for (const name of EVENTS) gate.on(name, (event) => tell(name, event));
      const server = await listen(createApp(gate, tell));

      const { token: _, ...first } = givens[0] as (typeof givens)[number];
      const spoken = new Set(own.map(({ text }) => text));
      const figures = own.map(({ limit }) => new Set([String(limit)]));
      const shown: { tenant: number; text: string }[] = [];
      for (const [index, kind] of (['again', ...kinds] as const).entries()) {
        const { token, ...given } = givens[index] as (typeof givens)[number];
        // The very same question of the very same caller.
        const { tenant, ...said } = kind === 'again' ? { ...first, tenant: 0 } : given;
        for (const text of [token, ...Object.values(said)]) spoken.add(text);
        const { key } = own[tenant] as (typeof own)[number];
        const headers = {
          authorization: `Bearer sk-${token}`,
          'x-api-key': `sk-ant-${token}`,
          'x-user': encodeURIComponent(key),
        };
        const { path, body } = sendingOf(kind, said);
        const sending = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body };
        if (kind === 'left') {
          const outgoing = begin(server.url + path, sending);
          outgoing.on('response', (response) => response.on('error', () => {}).resume());
          await once(outgoing, 'finish');
          outgoing.destroy();
          continue;
        }
        const reply = await send(server.url + path, sending);
        seen.add(String(reply.headers['spillway-outcome'] ?? 'none'));
        tell(reply.headers);
        if (reply.status >= 400) tell(reply.text);
        shown.push({ tenant, text: JSON.stringify(reply.headers) + (reply.status >= 400 ? reply.text : '') });
        for (const left of remainingIn(reply)) figures[tenant]?.add(left);
      }
      await until(async () => (await gate.snapshot()).openRequests === 0);
      tell(await gate.snapshot());
      await server.close();
      await gate.close();

      const all = told.join('\n');
      expect(all).toContain('request-answered');
      expect([...spoken].filter((secret) => all.includes(secret))).toEqual([]);
      const foreign = shown.flatMap(({ tenant, text }) => {
        const others = [
          String(shared),
          String(everybody),
          ...figures.flatMap((own, index) => (index === tenant ? [] : [...own])),
        ];
        return others.filter((other) => !figures[tenant]?.has(other) && new RegExp(`(?<!\\d)${other}(?!\\d)`).test(text));
      });
      expect(foreign).toEqual([]);
      // The look for figures finds those of the caller itself.
      expect(shown.some(({ tenant, text }) => text.includes(String(own[tenant]?.limit)))).toBe(true);
    }),
    { numRuns: 20, timeout: 30_000, interruptAfterTimeLimit: 60_000 },
  );
});

function createApp(gate: Parameters<typeof spillway<'global' | 'user'>>[0], tell: (...given: unknown[]) => void) {
  const app = express();
  const handler: RequestHandler = (req, res) => {
    setImmediate(() => {
      if (req.body.stream)
        return res.type('text/event-stream').end(`data: ${JSON.stringify({ choices: [] })}\n\ndata: [DONE]\n\n`);
      return res.json(completion({ input: 1_234, output: 5 }));
    });
  };
  app.use(spillway(gate, { route: 'any', identify: (req) => ({ user: decodeURIComponent(req.get('x-user') ?? '') }) }), handler);
  const failed: ErrorRequestHandler = (error, _req, res, _next) => {
    tell(error, error.message, error.stack);
    res.status(error.status ?? 500).json({ error: { message: error.message } });
  };
  app.use(failed);
  return app;
}

function sendingOf(kind: Kind, { said, field, tool }: Said): { path: string; body: unknown } {
  const chat = (content: unknown, more: object = {}) => ({
    path: '/v1/chat/completions',
    body: { model: 'gpt-4o', messages: [{ role: 'user', content, name: tool }], ...more },
  });
  const tools = [{ type: 'function', function: { name: tool, description: field, parameters: { [tool]: field } } }];
  switch (kind) {
    case 'again':
      return chat(said);
    case 'chat':
      return chat(said, { metadata: { [field]: field }, [tool]: said, user: field });
    case 'tools':
      return chat(
        [
          { type: 'text', text: said },
          { type: 'image_url', image_url: { url: `https://${field}/1.png` } },
        ],
        { tools },
      );
    case 'claude':
      return {
        path: '/v1/messages',
        body: {
          model: 'claude-sonnet-4-5',
          max_tokens: 9,
          system: said,
          messages: [{ role: 'user', content: field }],
          metadata: { user_id: tool },
        },
      };
    case 'response':
      return { path: '/v1/responses', body: { model: 'gpt-4o', input: said, instructions: field, previous_response_id: tool } };
    case 'stream':
      return chat(said, { stream: true, stop: [field] });
    case 'unknown model':
      // What looks like a model's name is told as one; this does not.
      return chat(said, { model: `{${field}}: 1` });
    case 'unread':
      return { path: `/${tool}?q=${field}`, body: { text: said } };
    case 'huge':
      return chat(`${said} `.repeat(20), { model: 'gpt-4o', max_tokens: 1e308, [field]: said });
    case 'broken':
      return { path: '/v1/chat/completions', body: JSON.stringify({ [field]: said }).slice(0, -2) };
    case 'left':
      return chat(said, { [field]: tool });
    default:
      return kind satisfies never;
  }
}

/** What a reply says that its caller has left: no one else may be told. */
function remainingIn({ headers }: Reply): string[] {
  const left = headers['x-ratelimit-remaining-tokens'];
  return typeof left === 'string' ? [left] : [];
}
