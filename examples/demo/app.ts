import express, { type Express, type Request } from 'express';
import OpenAI from 'openai';
import { cachedAnswer, cheaperModel, createSpillway, type Gate, queue, staticAnswer } from 'spillway';
import { spillway } from 'spillway/express';

/** What the provider grants: tokens and requests per minute. */
export const GRANTED = {
  'gpt-4o': { tokensPerMinute: 100_000, requestsPerMinute: 500 },
  'gpt-4o-mini': { tokensPerMinute: 400_000, requestsPerMinute: 1_000 },
} as const;

/** Each message takes three calls: look at it from two sides, then answer. */
async function answerInThreeCalls(openai: OpenAI, req: Request): Promise<string> {
  const { model, messages } = req.body as { model: string; messages: OpenAI.ChatCompletionMessageParam[] };
  const ask = async (task: string) => {
    const completion = await openai.chat.completions.create({
      model,
      messages: [{ role: 'system', content: task }, ...messages],
    });
    return completion.choices[0]?.message.content ?? '';
  };
  const sides = [await ask('List what speaks for it.'), await ask('List what speaks against it.')];
  return ask(`Weigh up and answer in short: ${sides.join(' / ').slice(0, 200)}`);
}

function respond(req: Request, text: string) {
  const message = { role: 'assistant', content: text };
  return { object: 'chat.completion', model: req.body.model, choices: [{ index: 0, message, finish_reason: 'stop' }] };
}

/** The route as it stands today: the SDK's own retries, nothing else. */
export function bareApp(baseURL: string, apiKey: string): Express {
  const openai = new OpenAI({ baseURL, apiKey });
  const app = express();
  app.post('/api/chat', express.json(), async (req, res) => {
    res.json(respond(req, await answerInThreeCalls(openai, req)));
  });
  app.use(quietErrors);
  return app;
}

/** The same route behind spillway: one line at the SDK, one at the route. */
export function governedApp(baseURL: string, apiKey: string, gate: Gate<'organization' | 'user'>): Express {
  const openai = new OpenAI({ baseURL, apiKey, fetch: gate.fetch });
  const app = express();
  app.post(
    '/api/chat',
    express.json(),
    spillway(gate, {
      route: 'chat',
      callsPerRequest: 3,
      identify: (req) => ({ user: req.get('x-demo-user'), organization: req.get('x-demo-organization') }),
    }),
    async (req, res) => {
      res.json(respond(req, await answerInThreeCalls(openai, req)));
    },
  );
  app.use(quietErrors);
  return app;
}

export function createDemoGate(log: (line: object) => void): Gate<'organization' | 'user'> {
  return createSpillway({
    models: {
      'gpt-4o': {
        budgets: [
          { tokens: GRANTED['gpt-4o'].tokensPerMinute, per: 'minute' },
          { requests: GRANTED['gpt-4o'].requestsPerMinute, per: 'minute' },
        ],
        headroomRatio: 0.1,
        cheaper: ['gpt-4o-mini'],
      },
      'gpt-4o-mini': {
        budgets: [
          { tokens: GRANTED['gpt-4o-mini'].tokensPerMinute, per: 'minute' },
          { requests: GRANTED['gpt-4o-mini'].requestsPerMinute, per: 'minute' },
        ],
        headroomRatio: 0.1,
      },
    },
    scopes: {
      organization: { budgets: [{ tokens: 60_000, per: 'minute' }] },
      user: { budgets: [{ tokens: 20_000, per: 'minute' }, { concurrent: 5 }] },
    },
    ladder: [
      queue({ waitMs: 2_000 }),
      cachedAnswer(),
      cheaperModel(),
      staticAnswer('We are busy right now; please ask again in a minute.'),
    ],
    logger: { info: log, warn: log },
  });
}

const quietErrors: express.ErrorRequestHandler = (error, _req, res, next) => {
  if (res.headersSent) return next(error);
  res.status(typeof error?.status === 'number' ? error.status : 500).json({ error: { message: 'the provider refused' } });
};
