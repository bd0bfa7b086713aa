import express, { type Express } from 'express';
import OpenAI from 'openai';
import type { Gate } from 'spillway';
import { spillway, spillwayOf } from 'spillway/express';

/** An OpenAI-compatible server in front of the provider: any OpenAI client can point its base URL here. */
export function createApp(gate: Gate<'user'>, baseURL: string): Express {
  const openai = new OpenAI({ apiKey: 'demo-key', baseURL, fetch: gate.fetch, maxRetries: 0 });
  const app = express();
  app.post(
    '/v1/chat/completions',
    express.json(),
    spillway(gate, { route: 'chat', identify: (req) => ({ user: req.get('x-user') }) }),
    async (req, res) => {
      const { signal } = spillwayOf(req);
      if (!req.body.stream) {
        res.json(await openai.chat.completions.create(req.body, { signal }));
        return;
      }
      const stream = await openai.chat.completions.create(
        { ...req.body, stream: true } as OpenAI.ChatCompletionCreateParamsStreaming,
        { signal },
      );
      res.setHeader('content-type', 'text/event-stream; charset=utf-8');
      for await (const chunk of stream) res.write(`data: ${JSON.stringify(chunk)}\n\n`);
      res.end('data: [DONE]\n\n');
    },
  );
  return app;
}
