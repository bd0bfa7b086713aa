import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createSpillway, estimateTokens, OptionsError, queue } from '../src/index.js';

const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'How deep is the river, and who has measured it?' }] };

describe('createSpillway', () => {
  it('throws all faults together, each with its path', () => {
    const make = () =>
      createSpillway({
        models: { 'gpt-4o': { budgets: [{ tokens: '10k' as never, per: 'minute' }], cheaper: ['gpt-4'] } },
        scopes: { user: { budgets: [{ requests: 5, per: 'fortnight' as never }] } },
        ladder: 'queue' as never,
        stallMs: -1,
        lader: [],
      } as never);

    expect(make).toThrow(OptionsError);
    const { faults, code } = captured(make);
    expect(code).toBe('SPILLWAY_BAD_OPTIONS');
    for (const path of [
      'models["gpt-4o"].budgets[0].tokens',
      'models["gpt-4o"].cheaper',
      'scopes.user.budgets[0].per',
      'stallMs',
    ])
      expect(faults.filter((fault) => fault.startsWith(path))).toHaveLength(1);
    for (const word of ['ladder', 'lader']) expect(faults.some((fault) => fault.startsWith(word))).toBe(true);
    expect(faults).toHaveLength(6);
  });

  it('throws the faults of a mount together, and makes none', () => {
    const gate = createSpillway({ scopes: { user: { budgets: [] } } });

    const { faults } = captured(() => gate.mount({ route: 7, callsPerRequest: 0, identfy: () => ({}) } as never));

    expect(faults.map((fault) => fault.split(/[ :]/)[0]).sort()).toEqual(['callsPerRequest', 'identfy', 'identify', 'route']);
  });

  it('needs nothing but an empty object', async () => {
    const gate = createSpillway({});

    expect(await gate.run({ body }, async () => 'done')).toMatchObject({ kind: 'passed', value: 'done' });
    expect(await gate.snapshot()).toEqual({ budgets: [], queueDepth: 0, liveReservations: 0, openRequests: 0, estimates: [] });
    await gate.close();
  });
});

describe('ready', () => {
  it('resolves when tokens can be counted exactly', async () => {
    const gate = createSpillway({ models: { 'gpt-4o': { budgets: [{ tokens: 10_000, per: 'minute' }] } } });
    const estimates: number[] = [];
    gate.on('call-admitted', ({ inputTokens }) => estimates.push(inputTokens));

    expect(await gate.ready()).toBe(undefined);
    await gate.run({ body }, async () => ({}));

    const exact = await estimateTokens(body);
    expect(exact.confidence).toBe('counted');
    expect(estimates).toEqual([exact.inputTokens]);
    await gate.close();
  });

  it('resolves for models of several vocabularies, and for none', async () => {
    const gates = [createSpillway({ models: { 'gpt-4o': {}, 'gpt-4': {}, 'somebody-elses': {} } }), createSpillway({})];

    await expect(Promise.all(gates.map((gate) => gate.ready()))).resolves.toHaveLength(2);
    await Promise.all(gates.map((gate) => gate.close()));
  });
});

describe('on', () => {
  it('takes a listener off again, and lets one that throws harm nobody', async () => {
    const gate = createSpillway({ models: { 'gpt-4o': {} } });
    const heard: string[] = [];
    const off = gate.on('call-admitted', () => heard.push('first'));
    gate.on('call-admitted', () => {
      throw new Error('mine');
    });
    gate.on('call-admitted', () => heard.push('last'));

    await gate.run({ body }, async () => ({}));
    off();
    off();
    await gate.run({ body }, async () => ({}));

    expect(heard).toEqual(['first', 'last', 'last']);
    await gate.close();
  });
});

describe('close', () => {
  it('sends everybody away who waits, at once, and can be called again', async () => {
    const gate = createSpillway({
      models: { 'gpt-4o': { budgets: [{ concurrent: 1 }] } },
      ladder: [queue({ waitMs: 3_600_000 })],
    });
    let finish: () => void = () => {};
    const first = gate.run(
      { body },
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    const waiting = [1, 2, 3].map(() => gate.run({ body }, async () => expect.unreachable()));
    await expect.poll(async () => (await gate.snapshot()).queueDepth).toBe(3);

    await gate.close();
    await gate.close();

    expect((await Promise.all(waiting)).map(({ kind }) => kind)).toEqual(['shed', 'shed', 'shed']);
    finish();
    expect((await first).kind).toBe('passed');
    await expect.poll(async () => (await gate.snapshot()).liveReservations).toBe(0);
  });

  it.each([
    ['closes', { liveReservations: 1, queueDepth: 1, waiter: 'shed' }],
    ['never-closes', { answers: 3 }],
  ])('leaves a process free to end: one that %s', { timeout: 60_000 }, async (name, expected) => {
    const script = fileURLToPath(new URL(`support/children/${name}.ts`, import.meta.url));
    const run = promisify(execFile)(process.execPath, ['--import', 'tsx', script], { timeout: 30_000, killSignal: 'SIGKILL' });

    // Rejects when it was killed or ended with another code than 0.
    const { stdout, stderr } = await run;

    expect(JSON.parse(stdout)).toEqual(expected);
    expect(stderr).toBe('');
  });
});

function captured(make: () => unknown): OptionsError {
  try {
    make();
  } catch (error) {
    return error as OptionsError;
  }
  return expect.unreachable('nothing was thrown');
}
