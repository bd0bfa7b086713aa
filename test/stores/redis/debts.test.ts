import { describe, expect, it } from 'vitest';
import { Debts } from '../../../src/stores/redis/debts.js';
import type { Item } from '../../../src/stores/store.js';
import { money, running, tokens } from './rig.js';

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 2);

describe('debts', () => {
  it('are summed by counter and by where they are dated, oldest first', () => {
    const debts = new Debts();

    debts.add([tokens(5), money(7)], [5, 7], START_MS + 1_000);
    debts.add([tokens(5), money(7)], [1.2, 3], START_MS + 1_999);
    debts.add([tokens(5), money(7)], [4, 1], START_MS - 1);

    const slot = START_MS / 1_000;
    expect(debts.take(10)).toMatchObject([
      {
        counter: 'tokens',
        parts: [
          [slot - 1, 4],
          [slot + 1, 7],
        ],
      },
      {
        counter: 'money',
        parts: [
          [START_MS - DAY_MS, 1],
          [START_MS, 10],
        ],
      },
    ]);
    expect([debts.size, debts.take(10)]).toEqual([0, []]);
  });

  it('are none for what only runs, what came to nothing, and what is no number', () => {
    const debts = new Debts();

    debts.add([running(), tokens(5), tokens(5)], [1, 0, Number.NaN], START_MS);
    debts.add([tokens(5)], [], START_MS);

    expect(debts.size).toBe(0);
  });

  it('tell apart one counter in two windows', () => {
    const debts = new Debts();
    const hour: Item = { ...tokens(5), window: { kind: 'sliding', ms: 3_600_000 } };

    debts.add([tokens(5), hour], [1, 2], START_MS);

    expect(debts.take(10).map(({ parts }) => parts[0]?.[1])).toEqual([1, 2]);
  });

  it('are taken a few at a time', () => {
    const debts = new Debts();
    for (let i = 0; i < 5; i++) debts.add([{ ...tokens(1), counter: `${i}` }], [1], START_MS);

    expect([debts.take(2), debts.take(2), debts.take(2)].map((taken) => taken.map(({ counter }) => counter))).toEqual([
      ['0', '1'],
      ['2', '3'],
      ['4'],
    ]);
  });

  it('keep no more than some windows of slots, however long it lasts', () => {
    const debts = new Debts();

    for (let i = 0; i < 10_000; i++) debts.add([tokens(1)], [1], START_MS + i * 1_000);

    const [{ parts } = { parts: [] }] = debts.take(1);
    expect(parts.length).toBeLessThanOrEqual(121);
    // All of the window that runs is among them.
    expect(parts.slice(-61).map(([mark]) => mark)).toEqual(Array.from({ length: 61 }, (_, i) => START_MS / 1_000 + 9_939 + i));
  });

  it('keep no more than so many counters', () => {
    const debts = new Debts();

    for (let i = 0; i < 100_010; i++) debts.add([{ ...tokens(1), counter: `${i}` }], [1], START_MS);

    expect(debts.size).toBe(100_000);
    expect(debts.take(1)[0]?.counter).toBe('10');
  });
});
