import express, { type Request, type Response } from 'express';
import request from 'supertest';
import { spillway } from '../../adapters/express.js';
import { type BudgetOptions, createSpillway, type Gate, type MountOptions, memoryStore, type Options } from '../../src/index.js';
import { completion } from './chat.js';
import { bodyOf } from './gate.js';
import { createVirtualClock } from './virtual-clock.js';

type Scopes = 'organization' | 'user' | 'global';
/** What a user has unless told otherwise. */
export const USER: readonly BudgetOptions[] = [
  { tokens: 10_000, per: 'minute' },
  { requests: 3, per: 'minute' },
];

const gates = new Set<Gate<Scopes>>();

/** Closes the gates of all applications so far. */
export async function closeLimitedApps(): Promise<void> {
  for (const gate of gates) await gate.close();
  gates.clear();
}

/** An application on Express with one governed route, under a clock that stands still, and budgets that say so in their figures. */
export function createLimitedApp({
  budgets = USER,
  gate: options = {},
  mount = {},
  handler = (_req, res) => void res.json(completion({ input: 3, output: 97 })),
}: {
  budgets?: readonly BudgetOptions[] | ((key: string) => readonly BudgetOptions[]);
  gate?: Partial<Options<Scopes>>;
  mount?: MountOptions<Scopes, Request>;
  handler?: (req: Request, res: Response, gate: Gate<Scopes>) => unknown;
} = {}) {
  const clock = createVirtualClock();
  const gate = createSpillway<Scopes>({
    models: { 'gpt-4o': { budgets: [{ tokens: 777_777, per: 'minute' }] } },
    scopes: {
      global: { budgets: [{ requests: 888_888, per: 'minute' }] },
      organization: { budgets: [], optional: true },
      user: { budgets, optional: true },
    },
    ladder: [],
    store: memoryStore({ clock }),
    clock,
    random: () => 0,
    overheadRatio: 0,
    ...options,
  });
  gates.add(gate);
  const app = express();
  const identify = (req: Request) => ({ user: req.get('x-user'), organization: req.get('x-organization') });
  const route: MountOptions<Scopes, Request> = { route: 'chat', budgets: { route: [{ requests: 999_999, per: 'minute' }] } };
  app.post('/chat', spillway(gate, { ...route, identify, ...mount }), (req, res) => void handler(req, res, gate));
  const post = async (user: string, body: object = bodyOf(100), fields: Record<string, string> = {}) =>
    request(app)
      .post('/chat')
      .set({ 'x-user': user, ...fields })
      .send(body);
  return { gate, clock, post };
}

/** The headers about limits. */
export const limitsIn = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /ratelimit/.test(name)));
