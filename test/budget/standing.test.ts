import { expect, it } from 'vitest';
import { noteStandings, type Standing } from '../../src/budget/standing.js';
import type { Charge } from '../../src/call.js';

const chargeOn = (counter: string) => ({ counter }) as Charge;

it('keeps what the store said last, when a run is kept out without asking it', () => {
  const standings = new Map<string, Standing>();
  const charges = [chargeOn('tokens'), chargeOn('requests')];
  noteStandings(standings, { charges, used: [7, 1], full: [{ charge: chargeOn('requests'), waitMs: 9 }], atMs: 1 });

  noteStandings(standings, { charges, full: [{ charge: chargeOn('tokens'), waitMs: 5 }], atMs: 2 });

  expect([...standings.values()]).toEqual([
    { charge: charges[0], used: 7, waitMs: 5, atMs: 2 },
    { charge: charges[1], used: 1, waitMs: undefined, atMs: 2 },
  ]);
});

it('forgets a wait once there was room', () => {
  const standings = new Map<string, Standing>();
  const charges = [chargeOn('requests')];
  noteStandings(standings, { charges, used: [3], full: [{ charge: chargeOn('requests'), waitMs: 9 }], atMs: 1 });

  noteStandings(standings, { charges, used: [2], atMs: 2 });

  expect(standings.get('requests')).toEqual({ charge: charges[0], used: 2, waitMs: undefined, atMs: 2 });
});
