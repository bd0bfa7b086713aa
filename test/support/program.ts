import fc from 'fast-check';
import type { Ending, Outcome } from '../../src/call.js';
import type { Visit } from '../../src/visit.js';
import type { createTestCore } from './gate.js';
import { INPUT } from './gate.js';
import type { VirtualClock } from './virtual-clock.js';

/** One run of a program, with those that it makes inside. */
export interface RunPlan {
  readonly model: string;
  readonly tokens: number;
  /** What it really uses; `undefined`: not reported. */
  readonly uses: number | undefined;
  readonly takesMs: number;
  /** How long its answer goes on after it has begun. */
  readonly streamsMs: number;
  readonly ends: 'well' | 'with an error' | 'by a throw' | 'by an abort';
  readonly inner: readonly RunPlan[];
  /** Whether the inner runs go side by side. */
  readonly isParallel: boolean;
}

/** Somebody who passes: a request, or a job of several runs. */
export interface VisitPlan {
  readonly startMs: number;
  readonly user: string;
  readonly kind: 'request' | 'job';
  readonly callsPerRequest: number;
  /** When it leaves, if it does. */
  readonly leavesAfterMs: number | undefined;
  readonly isParallel: boolean;
  readonly runs: readonly RunPlan[];
}

export interface Program {
  readonly visits: readonly VisitPlan[];
  readonly seed: number;
  /** Out of a hundred reservations, so many get lost on their way. */
  readonly losses: number;
  /** Whether the ladder has a step that does not keep to the rules. */
  readonly isClumsy: boolean;
  /** When the gate is closed, if it is while somebody passes. */
  readonly closesAtMs: number | undefined;
}

/** What became of one run that was sent. */
export interface Sent {
  readonly model: string | undefined;
  readonly user: string;
  readonly visit: number;
  /** No run was begun inside: the call is its own. */
  readonly isLeaf: boolean;
  readonly kind: 'request' | 'call';
  readonly ending: Ending;
  readonly expectedOutputTokens: number;
  readonly maximumOutputTokens: number | undefined;
  settlements: number;
}

export interface Played {
  readonly outcomes: Outcome<unknown>[];
  readonly errors: unknown[];
  readonly sent: Sent[];
  /** Runs begun, and those that came to an end. */
  begun: number;
  ended: number;
}

/** A value; so many times as often none. */
function sometimes<T>(times: number, value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: times, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
}

function runPlan(depth: number): fc.Arbitrary<RunPlan> {
  return fc.record({
    model: fc.constantFrom('gpt-4o', 'gpt-4o', 'gpt-4o-mini', 'made-up-1'),
    tokens: fc.integer({ min: INPUT + 1, max: 300 }),
    uses: fc.option(fc.integer({ min: INPUT, max: 350 }), { nil: undefined }),
    takesMs: fc.integer({ min: 0, max: 400 }),
    streamsMs: fc.constantFrom(0, 0, 150),
    ends: fc.constantFrom('well', 'well', 'well', 'with an error', 'by a throw', 'by an abort'),
    inner: depth === 0 ? fc.constant([]) : fc.array(runPlan(depth - 1), { maxLength: 2 }),
    isParallel: fc.boolean(),
  });
}

export const program: fc.Arbitrary<Program> = fc.record({
  visits: fc.array(
    fc.record({
      startMs: fc.integer({ min: 0, max: 2_500 }),
      user: fc.constantFrom('ann', 'bob', 'cid', 'dan'),
      kind: fc.constantFrom('request', 'request', 'job'),
      callsPerRequest: fc.integer({ min: 1, max: 3 }),
      leavesAfterMs: sometimes(2, fc.integer({ min: 0, max: 900 })),
      isParallel: fc.boolean(),
      runs: fc.array(runPlan(2), { minLength: 1, maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 40, size: 'max' },
  ),
  seed: fc.integer(),
  losses: fc.constantFrom(0, 0, 10),
  isClumsy: fc.boolean(),
  closesAtMs: sometimes(4, fc.integer({ min: 0, max: 3_000 })),
});

/** Numbers in [0, 1), the same ones for the same seed (mulberry32). */
export function createChance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

type TestCore = Pick<ReturnType<typeof createTestCore>, 'core' | 'visitIn' | 'callIn' | 'clock'>;

/** Plays a program in virtual time to its very end. */
export async function play({ visits, closesAtMs }: Program, test: TestCore): Promise<Played> {
  const { clock, core, visitIn, callIn } = test;
  const played: Played = { outcomes: [], errors: [], sent: [], begun: 0, ended: 0 };
  const sleep = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));

  async function run(plan: RunPlan, visit: Visit, about: VisitPlan, index: number, isRequest: boolean): Promise<void> {
    const call = callIn(visit, plan.tokens, plan.model, isRequest ? about.callsPerRequest : 1);
    const kind = isRequest ? 'request' : 'call';
    const sent: Sent[] = [];
    const settled = () => {
      for (const one of sent) one.settlements++;
    };
    played.begun++;
    try {
      const outcome = await core.run(
        call,
        async (admitted) => {
          await all(plan.inner, plan.isParallel, (inner) => run(inner, visitIn(), about, index, false));
          await sleep(plan.takesMs);
          const note = (ending: Ending) => {
            const { model, expectedOutputTokens, maximumOutputTokens } = admitted;
            const facts = { model, user: about.user, visit: index, isLeaf: plan.inner.length === 0, kind } as const;
            sent.push({ ...facts, ending, expectedOutputTokens, maximumOutputTokens, settlements: 0 });
            played.sent.push(...sent);
            return ending;
          };
          const status = plan.ends === 'with an error' ? 503 : 200;
          if (plan.ends === 'by a throw') {
            note({ by: visit.signal.aborted ? 'left' : 'failed', status: 502, sentOutputTokens: 0 });
            throw Object.assign(new Error('bad gateway'), { status: 502 });
          }
          if (plan.ends === 'by an abort') {
            note({ by: 'left', status: 0, sentOutputTokens: 0 });
            throw new DOMException('aborted', 'AbortError');
          }
          const usage = plan.uses === undefined ? undefined : { inputTokens: INPUT, outputTokens: plan.uses - INPUT };
          const ended = sleep(plan.streamsMs).then(() =>
            note({ by: visit.signal.aborted ? 'left' : 'done', status, usage, sentOutputTokens: 7 }),
          );
          return { value: undefined, ended };
        },
        { kind, onSettled: settled },
      );
      played.outcomes.push(outcome);
    } catch (error) {
      played.errors.push(error);
    } finally {
      played.ended++;
    }
  }

  async function visitBy(about: VisitPlan, index: number): Promise<void> {
    const leaving = new AbortController();
    await sleep(about.startMs);
    if (about.leavesAfterMs !== undefined) void sleep(about.leavesAfterMs).then(() => leaving.abort());
    const facts = { identity: { user: about.user }, route: 'chat', signal: leaving.signal };
    if (about.kind === 'request') return run(about.runs[0] as RunPlan, visitIn(facts), about, index, true);
    const job = visitIn(facts);
    await all(about.runs, about.isParallel, (plan) =>
      run(plan, visitIn({ identity: job.identity, outer: job }), about, index, false),
    );
  }

  if (closesAtMs !== undefined) {
    void sleep(closesAtMs).then(() => {
      core.line.close();
      core.keeper.close();
    });
  }
  const everybody = Promise.all(visits.map(visitBy));
  await passTime(everybody, clock);
  return played;
}

async function all<T>(plans: readonly T[], isParallel: boolean, run: (plan: T) => Promise<void>): Promise<void> {
  if (isParallel) await Promise.all(plans.map(run));
  else for (const plan of plans) await run(plan);
}

const MOST_STEPS = 20_000;

/** Moves time on from timer to timer, until everything is over: nothing may need a timer that never comes. */
async function passTime(everybody: Promise<unknown>, clock: VirtualClock): Promise<void> {
  let isOver = false;
  void everybody.then(() => {
    isOver = true;
  });
  for (let step = 0; step < MOST_STEPS; step++) if (!(await clock.next()) && isOver) return;
  throw new Error('it never comes to an end');
}
