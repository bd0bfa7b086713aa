import express, { type ErrorRequestHandler, type Express } from 'express';
import OpenAI, { type APIError } from 'openai';
import type { Gate } from 'spillway';
import { spillway, spillwayOf } from 'spillway/express';
import { chatEvents, event } from './dialect.js';

/** A chat: { message, conversationId } in, this application's own events out. Model and history are the server's. */
export function createApp(gate: Gate<'user'>, baseURL: string): Express {
  const openai = new OpenAI({ apiKey: 'demo-key', baseURL, fetch: gate.fetch });
  const conversations = new Map<string, OpenAI.ChatCompletionMessageParam[]>();
  const governed = spillway(gate, {
    route: 'chat',
    identify: (req) => ({ user: req.get('x-user') }),
    dialect: chatEvents,
  });

  const app = express();
  app.post('/chat', express.json(), governed, async (req, res) => {
    const { message, conversationId } = req.body as { message: string; conversationId: string };
    const { user } = spillwayOf(req).identity;
    const conversation = `${user}/${conversationId}`;
    const messages = [...(conversations.get(conversation) ?? []), { role: 'user' as const, content: message }];

    // A cached answer comes out of this call like any other; what throws here before the first event goes up the ladder.
    const { signal } = spillwayOf(req);
    const stream = await openai.chat.completions.create({ model: 'gpt-4o', messages, stream: true }, { signal });
    res.type('text/event-stream');
    let reply = '';
    for await (const { choices } of stream) {
      const text = choices[0]?.delta.content;
      if (!text) continue;
      reply += text;
      res.write(event('token', { text }));
    }
    conversations.set(conversation, [...messages, { role: 'assistant', content: reply }]);
    res.end(event('done', { outcome: spillwayOf(req).outcome }));
  });
  app.use(asEvents);
  return app;
}

/** What no step of the ladder could answer in its place: a prompt that never fits, a provider that failed. */
const asEvents: ErrorRequestHandler = (error: Partial<APIError>, _req, res, _next) => {
  const isTooLong = error.status === 413;
  const message = isTooLong ? 'Your message is too long.' : 'Something went wrong; please try again.';
  if (!res.headersSent) res.status(isTooLong ? 413 : 502).type('text/event-stream');
  res.end(event('error', { message }));
};
