import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Reply } from './shape.js';

const MOST_BODY_BYTES = 16 * 1024 * 1024;

export function writeReply(res: ServerResponse, { status, headers, body }: Reply, more: Record<string, string> = {}): void {
  res.writeHead(status, { 'content-type': 'application/json', ...more, ...headers });
  res.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** @returns the body, or `undefined` when it is too large; it is then read to its end, so that the answer arrives */
export async function readText(req: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of req) {
    bytes += part.length;
    if (bytes <= MOST_BODY_BYTES) parts.push(part);
    else parts.length = 0;
  }
  return bytes <= MOST_BODY_BYTES ? Buffer.concat(parts).toString('utf8') : undefined;
}

/** Waits until the time is over or the caller is gone. Less than a timer's grain is passed over: the next wait makes up for it. */
export async function wait(ms: number, gone: AbortSignal): Promise<void> {
  if (ms >= 1) await delay(ms, undefined, { ref: false, signal: gone }).catch(() => undefined);
}
