import { beforeEach, expect } from 'vitest';
import type { BudgetOptions } from '../../src/budget/budget.js';
import type { Outcome } from '../../src/call.js';
import type { EventName } from '../../src/observe/events.js';
import type { Options } from '../../src/options.js';
import type { Gate } from '../../src/spillway.js';
import type { Store } from '../../src/stores/store.js';
import { INPUT } from './gate.js';
import { settled } from './virtual-clock.js';

export const MODEL = 'model|gpt-4o|tokens;60000';
export const MINI = 'model|gpt-4o-mini|tokens;60000';
export const USER = 'user|ann|tokens;60000';

export const tokens = (limit: number): BudgetOptions => ({ tokens: limit, per: 'minute' });
export const requests = (limit: number): BudgetOptions => ({ requests: limit, per: 'minute' });

/** Less than any call takes. */
export const NO_ROOM = INPUT - 1;

/** Two models of this many tokens a minute, the first with the second as its substitute. */
export function twoModels(first: number, second: number): Options<string> {
  return {
    models: { 'gpt-4o': { budgets: [tokens(first)], cheaper: ['gpt-4o-mini'] }, 'gpt-4o-mini': { budgets: [tokens(second)] } },
  };
}

export function forUsers(...budgets: readonly BudgetOptions[]): Options<string> {
  return { scopes: { user: { budgets, optional: true } } };
}

/** All events of this name from now on. */
export function listen<E extends EventName>(gate: Gate, name: E): object[] {
  const events: object[] = [];
  gate.on(name, (event) => void events.push(event));
  return events;
}

export const kindOf = (outcome: Outcome<unknown>) => outcome.kind;
export const reasonOf = (outcome: Outcome<unknown>) => (outcome.kind === 'shed' ? outcome.refusal.reason : undefined);

/** A store's methods as an object of their own, to replace some of them. */
export function bound(store: Store): Store {
  return {
    reserve: (...given) => store.reserve(...given),
    settle: (...given) => store.settle(...given),
    renew: (...given) => store.renew(...given),
    peek: (...given) => store.peek(...given),
    close: () => store.close(),
  };
}

/** Fails a test of this file after which a rejection was left that nobody took. */
export function expectNoRejections(): void {
  beforeEach(() => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    return async () => {
      await settled();
      process.off('unhandledRejection', note);
      expect(unhandled).toEqual([]);
    };
  });
}
