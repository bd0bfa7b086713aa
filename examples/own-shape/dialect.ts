import { type Dialect, openaiChat, type Rendered } from 'spillway';

/** One event of this application's own stream: `token`, `done` or `error`. */
export const event = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

const eventStream = (status: number, body: string): Rendered => ({
  status,
  headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' },
  body,
});

/**
 * A dialect made from a built-in one: what the gate itself answers to the browser is written as this application's events.
 * Bodies say neither model nor history, so nothing is read here: the calls that the handler makes are what is priced.
 */
export const chatEvents: Dialect = {
  ...openaiChat,
  name: 'chat-events',
  read: () => undefined,
  answer: ({ kind, text }) => eventStream(200, event('token', { text }) + event('done', { outcome: kind })),
  error: ({ status, message }) => eventStream(status, event('error', { message })),
};
