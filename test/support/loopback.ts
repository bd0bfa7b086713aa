import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP server on the loopback interface. */
export interface Loopback {
  readonly url: string;
  /** Ends the server and every open connection. */
  close(): Promise<void>;
}

export async function listen(listener: RequestListener): Promise<Loopback> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Collects rejections that nobody handles, from now until `stop`. */
export function watchUnhandled(): { readonly seen: readonly unknown[]; stop(): void } {
  const seen: unknown[] = [];
  const listener = (reason: unknown) => seen.push(reason);
  process.on('unhandledRejection', listener);
  return { seen, stop: () => process.off('unhandledRejection', listener) };
}

/** Polls until `isTrue`, for as long as `withinMs`; for what a real server or socket decides. */
export async function until(isTrue: () => boolean | Promise<boolean>, withinMs = 15_000): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!(await isTrue())) {
    if (performance.now() > endMs) throw new Error(`did not come true within ${withinMs} ms: ${isTrue}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
