import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { spillway, spillwayOf } from '../../adapters/express.js';
import { type MountOptions, type Step, staticAnswer } from '../../src/index.js';
import { chat, completion } from './chat.js';
import { type Loopback, listen } from './loopback.js';
import { createWorld, ROOMY, type World } from './world.js';

/** An application whose handler makes a call that is refused, while its request was admitted. */
export interface Refused {
  readonly world: World;
  readonly url: string;
  close(): Promise<void>;
}

export interface RefusedOptions {
  readonly ladder?: readonly Step[];
  readonly options?: Omit<MountOptions<'user', express.Request>, 'identify' | 'ladder'>;
  readonly before?: readonly RequestHandler[];
  readonly handler: RequestHandler;
  readonly onError?: ErrorRequestHandler;
}

export const BUSY = 'We are busy; please try again shortly.';

/** The model that handlers ask for beside the one of the request; all of its room is taken. */
const SMALL = chat({ model: 'gpt-4o-mini' });

export async function createRefused(given: RefusedOptions): Promise<Refused> {
  const world = createWorld({
    models: { 'gpt-4o': { budgets: ROOMY }, 'gpt-4o-mini': { budgets: [{ requests: 1, per: 'hour' }] } },
    ladder: given.ladder ?? [staticAnswer(BUSY)],
  });
  await world.gate.run({ body: SMALL }, async () => completion());
  const app = express();
  app.set('env', 'test');
  for (const middleware of given.before ?? []) app.use(middleware);
  app.use(spillway(world.gate, { route: 'chat', identify: () => ({ user: 'ada' }), ...given.options }), given.handler);
  if (given.onError) app.use(given.onError);
  const server: Loopback = await listen(app);
  return {
    world,
    url: server.url,
    async close() {
      await server.close();
      await world.close();
    },
  };
}

/** Makes the call that is refused, as an SDK does over the governed fetch. No provider hears of it. */
export async function refusedCall(req: express.Request): Promise<Response> {
  return spillwayOf(req).fetch('http://127.0.0.1:9/v1/chat/completions', { method: 'POST', body: JSON.stringify(SMALL) });
}

/** Makes it, and throws as an SDK does. */
export async function failingCall(req: express.Request): Promise<never> {
  const response = await refusedCall(req);
  throw Object.assign(new Error(`${response.status} from the provider`), { status: response.status });
}

/** Makes a call that passes: on the model of the request. */
export async function passingCall(req: express.Request): Promise<unknown> {
  const made = await spillwayOf(req).run({ body: chat() }, async () => completion());
  return 'value' in made ? made.value : made.kind;
}
