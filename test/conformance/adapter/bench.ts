import { type Loopback, listen } from '../../support/loopback.js';
import { createWorld, type World } from '../../support/world.js';
import { errors, type MakeApp, type Part } from './app.js';

/** What a test of the suite works with; everything is taken down after it. */
export interface Bench {
  world(...options: Parameters<typeof createWorld>): World;
  /** Serves an application on the loopback interface. @returns its address */
  serve(...parts: readonly Part[]): Promise<string>;
  /** What an error handler at the end of every application saw: it answers with the error's status, if it still can. */
  readonly failures: readonly Failure[];
}

export interface Failure extends Error {
  readonly status?: number;
  readonly type?: string;
  readonly code?: string;
}

export interface Case {
  readonly name: string;
  readonly run: (bench: Bench) => Promise<void>;
}

export async function onBench(makeApp: MakeApp, run: Case['run']): Promise<void> {
  const worlds: World[] = [];
  const servers: Loopback[] = [];
  const failures: Failure[] = [];
  const catchAll = errors((error, turn) => {
    const failure = error as Failure;
    failures.push(failure);
    if (turn.req.socket.destroyed || turn.passedHead()) turn.req.socket.destroy();
    else turn.json({ failed: failure.message }, failure.status ?? 500);
  });
  try {
    await run({
      failures,
      world(...options) {
        const world = createWorld(...options);
        worlds.push(world);
        return world;
      },
      async serve(...parts) {
        const server = await listen(makeApp([...parts, catchAll]));
        servers.push(server);
        return server.url;
      },
    });
  } finally {
    for (const server of servers) await server.close();
    for (const world of worlds) await world.close();
  }
}
