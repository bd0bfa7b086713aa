import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach } from 'vitest';
import type { Rendered } from '../../src/call.js';
import { type ResponseTap, type TapHooks, type TappedHead, tapResponse } from '../../src/http/response-tap.js';
import { type Loopback, listen } from './loopback.js';
import { createVirtualClock } from './virtual-clock.js';

const servers: Loopback[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

export const RENDERED: Rendered = { status: 203, headers: { 'content-type': 'text/plain', 'x-ours': 'yes' }, body: 'ours' };

/** Serves one handler behind a tap, and writes down what the tap asked and told. */
export async function serveTapped(
  run: (res: ServerResponse, tap: ResponseTap, req: IncomingMessage) => unknown,
  hooks: Partial<TapHooks> = {},
) {
  const log = { asked: [] as number[], bytes: '', heads: [] as TappedHead[], ends: [] as string[] };
  const clock = createVirtualClock();
  const watchers = new Set<() => void>();
  const responses: ServerResponse[] = [];
  const server = await listen((req, res) => {
    responses.push(res);
    const tap = tapResponse(
      res,
      {
        instead(status) {
          log.asked.push(status);
          return hooks.instead?.(status);
        },
        headers: hooks.headers ?? (() => ({ 'x-tapped': 'yes' })),
        onBytes(bytes, head) {
          log.bytes += Buffer.from(bytes).toString();
          log.heads.push(head);
        },
        onEnd: (by, status) => log.ends.push(`${by} ${status}`),
      },
      {
        clock,
        stallMs: 1_000,
        watch(watcher) {
          watchers.add(watcher);
          return () => void watchers.delete(watcher);
        },
      },
    );
    void Promise.resolve(run(res, tap, req)).catch(() => res.destroy());
  });
  servers.push(server);
  /** Looks, as a renewal does. */
  const look = () => {
    for (const watcher of watchers) watcher();
  };
  return { url: server.url, log, clock, look, watchers, responses };
}
