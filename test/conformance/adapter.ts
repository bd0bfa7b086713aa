import { describe, it } from 'vitest';
import type { MakeApp } from './adapter/app.js';
import { onBench } from './adapter/bench.js';
import { bodies } from './adapter/bodies.js';
import { compressing } from './adapter/compressing.js';
import { connections } from './adapter/connections.js';
import { failing } from './adapter/failing.js';
import { identity } from './adapter/identity.js';
import { mounting } from './adapter/mounting.js';
import { nesting } from './adapter/nesting.js';
import { refusedBodies } from './adapter/refused-bodies.js';
import { skipping } from './adapter/skipping.js';
import { writing } from './adapter/writing.js';

export type { MakeApp, Part, SuiteOptions, Turn } from './adapter/app.js';

export interface AdapterConformanceOptions {
  /** Tests that the framework cannot pass, each with its reason: gaps are data. */
  readonly skip?: readonly { readonly test: string; readonly reason: string }[];
}

const PARTS = {
  bodies,
  'refused bodies': refusedBodies,
  skipping,
  mounting,
  nesting,
  identity,
  failing,
  compressing,
  writing,
  connections,
};

/**
 * Proves that an adapter governs requests of its framework, over real sockets, and leaves everything else as it was.
 * @throws Error when `skip` names a test that does not exist, or gives no reason
 */
export function adapterConformance(name: string, makeApp: MakeApp, options: AdapterConformanceOptions = {}): void {
  const cases = Object.values(PARTS).flat();
  const reasons = new Map<string, string>();
  for (const { test, reason } of options.skip ?? []) {
    if (!cases.some((entry) => entry.name === test)) throw new Error(`skip names no test of the suite: "${test}"`);
    if (reason.trim() === '') throw new Error(`skip gives no reason for "${test}"`);
    reasons.set(test, reason);
  }

  describe(`spillway on ${name}`, () => {
    for (const [part, members] of Object.entries(PARTS)) {
      describe(part, () => {
        for (const { name: test, run } of members) {
          const reason = reasons.get(test);
          if (reason !== undefined) it.skip(`${test} (${reason})`, () => {});
          else it(test, () => onBench(makeApp, run));
        }
      });
    }
  });
}
