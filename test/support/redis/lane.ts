import type { Socket } from 'node:net';

/**
 * What becomes of bytes, and of the news that a side has hung up: they pass; get lost; are kept until they pass again; or
 * pass late.
 */
export type Flow = 'pass' | 'drop' | 'hold' | { readonly delayMs: number };

/** Bytes of one direction. */
export interface Traffic {
  readonly bytes: number;
  readonly lostBytes: number;
}

interface Item {
  readonly what: Buffer | 'end' | 'reset';
  readonly dueMs: number;
}

/** One direction of one connection: carries bytes and the end from one socket to the other, in their order. */
export class Lane {
  readonly #to: Socket;
  readonly #flow: () => Flow;
  readonly #traffic: { bytes: number; lostBytes: number };
  readonly #waiting: Item[] = [];
  #hasLost = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, flow: () => Flow, traffic: { bytes: number; lostBytes: number }) {
    this.#to = to;
    this.#flow = flow;
    this.#traffic = traffic;
    from.setNoDelay(true);
    from.on('data', (bytes: Buffer) => {
      traffic.bytes += bytes.length;
      this.#take(bytes);
    });
    // Followed by 'close', which knows whether there was one.
    from.on('error', () => {});
    from.once('close', (hadError) => this.#take(hadError ? 'reset' : 'end'));
    to.once('close', () => clearTimeout(this.#timer));
  }

  /** Looks at the flow again. @returns `broken` when the direction works and something is missing in it */
  change(): 'broken' | 'whole' {
    if (this.#flow() !== 'drop' && this.#hasLost) return 'broken';
    this.#pump();
    return 'whole';
  }

  #take(what: Item['what']): void {
    const flow = this.#flow();
    this.#waiting.push({ what, dueMs: performance.now() + (typeof flow === 'object' ? flow.delayMs : 0) });
    this.#pump();
  }

  #pump(): void {
    clearTimeout(this.#timer);
    const flow = this.#flow();
    if (flow === 'hold') return;
    while (this.#waiting[0]) {
      const { what, dueMs } = this.#waiting[0];
      const leftMs = dueMs - performance.now();
      if (flow !== 'drop' && leftMs > 0) {
        this.#timer = setTimeout(() => this.#pump(), Math.ceil(leftMs));
        return;
      }
      this.#waiting.shift();
      if (flow === 'drop') this.#lose(what);
      else this.#deliver(what);
    }
  }

  #lose(what: Item['what']): void {
    this.#hasLost = true;
    if (typeof what !== 'string') this.#traffic.lostBytes += what.length;
  }

  #deliver(what: Item['what']): void {
    if (this.#to.destroyed) return;
    if (what === 'end') this.#to.end();
    else if (what === 'reset') resetSocket(this.#to);
    else this.#to.write(what);
  }
}

export function resetSocket(socket: Socket): void {
  // A socket that is hanging up takes no reset: it would stay open for ever.
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
