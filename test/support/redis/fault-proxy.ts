import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { type Flow, Lane, resetSocket, type Traffic } from './lane.js';
import { freePort } from './ports.js';

export type { Flow, Traffic };

export interface Flows {
  readonly requests: Flow;
  readonly replies: Flow;
}

/** A TCP proxy that breaks what runs through it, as networks do. It passes everything until told otherwise. */
export interface FaultProxy {
  readonly port: number;
  /** `redis://127.0.0.1:port` */
  readonly url: string;
  /** Connections that were accepted, since the beginning. */
  readonly connections: number;
  /** Those that clients have open now. */
  readonly openConnections: number;
  /** What came from clients, and how much of it was lost. */
  readonly requests: Traffic;
  /** What came from the server. */
  readonly replies: Traffic;
  /**
   * Changes one direction or both, for open and new connections alike; what is left out stays. A connection that has lost
   * something cannot go on: it is reset when that direction stops losing.
   */
  set(flows: Partial<Flows>): void;
  /** Requests arrive, their answers never do. */
  dropReplies(): void;
  /** Accepts and swallows: nothing gets through either way, and nobody hears of it, whether the server lives or not. */
  halfOpen(): void;
  /** Resets every open connection, now. New ones are accepted. */
  cut(): void;
  /** Refuses new connections until `heal`; open ones stay. */
  refuse(): void;
  /** Passes everything, and accepts. What was held goes on; connections that have lost something are reset. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  readonly requests: Lane;
  readonly replies: Lane;
  /** Settled when both sockets are gone. */
  readonly closed: Promise<unknown>;
}

/** @param to - what is behind it; it may be down, and come back on the same port */
export async function createFaultProxy(to: { readonly port: number }): Promise<FaultProxy> {
  const traffic = { requests: { bytes: 0, lostBytes: 0 }, replies: { bytes: 0, lostBytes: 0 } };
  const pairs = new Set<Pair>();
  let flows: Flows = { requests: 'pass', replies: 'pass' };
  let connections = 0;

  function accept(client: Socket): void {
    connections++;
    const server = connect(to.port, '127.0.0.1');
    const pair: Pair = {
      client,
      server,
      requests: new Lane(client, server, () => flows.requests, traffic.requests),
      replies: new Lane(server, client, () => flows.replies, traffic.replies),
      closed: Promise.all([client, server].map((socket) => new Promise((resolve) => socket.once('close', resolve)))),
    };
    pairs.add(pair);
    void pair.closed.then(() => pairs.delete(pair));
  }

  function set(changed: Partial<Flows>): void {
    flows = { ...flows, ...changed };
    for (const pair of [...pairs]) {
      const isBroken = [pair.requests, pair.replies].some((lane) => lane.change() === 'broken');
      if (isBroken) reset(pair);
    }
  }

  let listener: Server | undefined = await listen(await freePort(), accept);
  const { port } = listener.address() as { port: number };
  const refuse = () => {
    listener?.close();
    listener = undefined;
  };
  const cut = () => {
    for (const pair of [...pairs]) reset(pair);
  };

  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    get connections() {
      return connections;
    },
    get openConnections() {
      return [...pairs].filter(({ client }) => !client.destroyed).length;
    },
    get requests() {
      return { ...traffic.requests };
    },
    get replies() {
      return { ...traffic.replies };
    },
    set,
    dropReplies: () => set({ replies: 'drop' }),
    halfOpen: () => set({ requests: 'drop', replies: 'drop' }),
    cut,
    refuse,
    async heal() {
      set({ requests: 'pass', replies: 'pass' });
      listener ??= await listen(port, accept);
    },
    async close() {
      refuse();
      cut();
      await Promise.all([...pairs].map(({ closed }) => closed));
    },
  };
}

function reset({ client, server }: Pair): void {
  for (const socket of [client, server]) resetSocket(socket);
}

async function listen(port: number, accept: (client: Socket) => void): Promise<Server> {
  const server = createServer({ noDelay: true }, accept).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
