import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { type Loopback, listen } from './loopback.js';

/** A call as it came to a provider. */
export interface UpstreamCall {
  readonly model: string;
  readonly max_tokens?: number;
  readonly messages?: readonly { readonly content: string }[];
}

/** A provider that answers each call with what a function says, on any path. */
export interface Upstream extends Loopback {
  /** The bodies that came, in their order. */
  readonly calls: readonly UpstreamCall[];
}

/** @param answer - a JSON body, and a status unless it is 200 */
export async function createUpstream(
  answer: (call: UpstreamCall) => { readonly status?: number; readonly body: unknown },
): Promise<Upstream> {
  const calls: UpstreamCall[] = [];
  const server = await listen(async (req: IncomingMessage, res) => {
    const call = (await json(req)) as UpstreamCall;
    calls.push(call);
    const { status = 200, body } = answer(call);
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  return { ...server, calls };
}
