import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text as readText } from 'node:stream/consumers';

/** What came back, as it was on the wire: nothing inflated, nothing followed. */
export interface Reply {
  readonly status: number;
  readonly message: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly text: string;
}

export interface Sending extends Pick<RequestOptions, 'method' | 'agent'> {
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** An object is sent as JSON. Without a `content-length` among the headers the body is sent in chunks when it is a list. */
  readonly body?: unknown;
}

/** Begins a request that the caller looks after itself. */
export function begin(url: string, { method = 'POST', headers = {}, body, agent = false }: Sending = {}) {
  const outgoing = request(url, { method, agent, headers: { ...contentType(body), ...headers } as never });
  // A connection that the test or the server cuts is no surprise to either.
  outgoing.on('error', () => {});
  if (Array.isArray(body)) {
    for (const chunk of body) outgoing.write(chunk);
    outgoing.end();
  } else outgoing.end(bytesOf(body));
  return outgoing;
}

/** Sends a request and reads the whole response. */
export async function send(url: string, sending: Sending = {}): Promise<Reply> {
  const outgoing = begin(url, sending);
  const [response] = (await Promise.race([
    once(outgoing, 'response'),
    once(outgoing, 'close').then(() => {
      throw new Error('the connection ended without a response');
    }),
  ])) as [IncomingMessage];
  return readReply(response);
}

export async function readReply(response: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const { statusCode: status = 0, statusMessage: message = '', headers, rawHeaders } = response;
  return { status, message, headers, rawHeaders, body, text: body.toString('utf8') };
}

/** A bare connection, for what no client does by itself. */
export async function dial(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** One request as it is written on a bare connection. */
export function wire(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): string {
  const text = JSON.stringify(body);
  const all = { host: 'loopback', 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${text}`;
}

/** Everything that a connection brings until the other side ends it. */
export const readAll = (socket: Socket): Promise<string> => readText(socket);

function bytesOf(body: unknown): string | Buffer {
  if (body === undefined) return '';
  return typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
}

function contentType(body: unknown): Record<string, string> {
  return body === undefined ? {} : { 'content-type': 'application/json' };
}
