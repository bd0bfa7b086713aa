import { describe, expect, it, vi } from 'vitest';
import type { Answer, Reservation } from '../../src/call.js';
import { answersOnly, type Descent, descend, type SkipReason } from '../../src/ladder/ladder.js';
import type { Step, Walk } from '../../src/ladder/step.js';
import { callOf, fullOf, walkOf } from '../support/builders.js';

const ANSWER: Answer = { kind: 'static', model: 'faq', text: 'nine to five' };

function stepOf(name: string, step: Partial<Step> = {}): Step {
  return { name, canHelp: () => true, attempt: async () => undefined, ...step };
}

async function walk(steps: readonly Step[], given: Partial<Descent> = {}) {
  const skips: [name: string, why: SkipReason, ...errors: unknown[]][] = [];
  const turns: (Reservation | Answer | undefined)[] = [];
  const found = await descend({
    steps,
    walk: walkOf(),
    call: callOf(),
    isForPeople: true,
    onSkip: (step, why, ...errors) => void skips.push([step.name, why, ...errors.filter((error) => error !== undefined)]),
    onTurn: async (result) => void turns.push(result),
    ...given,
  });
  return { found, skips, turns };
}

describe('the ladder', () => {
  it('ends with the first step that gives something', async () => {
    const last = vi.fn(async () => ANSWER);
    const steps = [stepOf('a'), stepOf('b', { attempt: async () => ANSWER }), stepOf('c', { attempt: last })];

    const { found, skips, turns } = await walk(steps);

    expect(found).toBe(ANSWER);
    expect(skips).toEqual([['a', 'no-help']]);
    expect(turns).toEqual([undefined, ANSWER]);
    expect(last).not.toHaveBeenCalled();
  });

  it('gives nothing when no step does', async () => {
    expect(await walk([stepOf('a'), stepOf('b')])).toMatchObject({ found: undefined });
    expect(await walk([])).toEqual({ found: undefined, skips: [], turns: [] });
  });

  it('passes over a step that could not change the refusal, asking about the newest one', async () => {
    const refusals = [fullOf({ a: 100 }), fullOf({ b: 200 })];
    const asked: unknown[] = [];
    const changing: Walk = { ...walkOf(), refusal: refusals[0] as never };
    const steps = [
      stepOf('a', { attempt: async () => void Object.assign(changing, { refusal: refusals[1] }) as undefined }),
      stepOf('b', { canHelp: (refusal) => asked.push(refusal) === 0 }),
    ];

    const { skips } = await walk(steps, { walk: changing });

    expect(asked).toEqual([refusals[1]]);
    expect(skips.at(-1)).toEqual(['b', 'cannot-help']);
  });

  it('keeps steps for people from runs that do not speak to them', async () => {
    const step = stepOf('a', { forPeople: true, attempt: async () => ANSWER });

    expect(await walk([step], { isForPeople: false })).toMatchObject({ found: undefined, skips: [['a', 'for-people']] });
    expect(await walk([step], { isForPeople: true })).toMatchObject({ found: ANSWER });
  });

  it('passes over a step that throws, in either of its parts', async () => {
    const failure = new Error('broken');
    const fail = () => {
      throw failure;
    };
    const steps = [
      stepOf('a', { canHelp: fail }),
      stepOf('b', { attempt: fail }),
      stepOf('c', { attempt: () => Promise.reject(failure) }),
      stepOf('d', { attempt: async () => ANSWER }),
    ];

    const { found, skips, turns } = await walk(steps);

    expect(found).toBe(ANSWER);
    expect(skips).toEqual(['a', 'b', 'c'].map((name) => [name, 'failed', failure]));
    expect(turns).toHaveLength(4);
  });

  it('tries no further step once the caller has left', async () => {
    const leaving = new AbortController();
    const second = vi.fn(async () => ANSWER);
    const steps = [stepOf('a', { attempt: async () => void leaving.abort() as undefined }), stepOf('b', { attempt: second })];

    const { found } = await walk(steps, { walk: walkOf({ signal: leaving.signal }) });

    expect(found).toBeUndefined();
    expect(second).not.toHaveBeenCalled();
  });

  it('passes over a step whose answer has no text or no model, and says so', async () => {
    const broken = stepOf('broken', { attempt: async () => ({ kind: 'static' }) as never });

    const { found, skips } = await walk([broken, stepOf('whole', { attempt: async () => ANSWER })]);

    expect(found).toBe(ANSWER);
    expect(skips[0]).toEqual(['broken', 'failed', expect.objectContaining({ code: 'SPILLWAY_BAD_OPTIONS' })]);
  });
});

describe('a walk for answers only', () => {
  it('admits nobody, neither now nor later, and knows no substitutes', async () => {
    const refusal = fullOf({ a: 100 });
    const call = callOf();
    const last = answersOnly(call, refusal, call.visit.signal);

    expect(await last.admit(call)).toBe(refusal);
    expect(await last.wait({ waitMs: 1_000, maxRequests: 1, maxTokens: 1 })).toBeUndefined();
    expect(last.substitutes(call)).toEqual([]);
    expect(last.onModel(call, 'gpt-4o-mini')).toBe(call);
  });
});
