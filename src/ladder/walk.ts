import type { Answer, Call, Refusal, Reservation } from '../call.js';
import type { Clock } from '../clock.js';
import type { Line } from './line.js';
import type { Place } from './places.js';
import { isReservation, type Walk } from './step.js';

/** What a walk is made of. */
export interface WalkFacts {
  readonly call: Call;
  /** The refusal that begins the walk, and {@link Line.frees} from before it. */
  readonly first: Refusal;
  readonly frees: number;
  readonly line: Line;
  readonly clock: Clock;
  /** Enters admission for this or another call; from `place` in the line, else as one who has yet to come to it. */
  admit(call: Call, place?: Place): Promise<Reservation | Refusal>;
  /** The declared substitutes of a model, in order. */
  cheaperThan(model: string | undefined): readonly string[];
  giveBack(reservation: Reservation): Promise<void>;
}

/** A walk, and what its owner needs to know of it. */
export interface OwnedWalk extends Walk {
  /** A step's turn is over, and it returned `found`: whatever else it was admitted for goes back, now or when it comes. */
  endTurn(found: Reservation | Answer | undefined): Promise<void>;
}

/** What the steps of a ladder may do for one refused call. */
export function createWalk(facts: WalkFacts): OwnedWalk {
  const { call, first, frees, line, clock, admit, giveBack } = facts;
  const { visit } = call;
  const tried = new Set([call.model]);
  let refusal = first;
  let refusedAtMs = clock.now();
  let turn = 0;
  let granted: Reservation[] = [];

  /** A step is trusted with nothing: one that throws, gives up or asks twice must not leave room held for ever. */
  async function during<R extends Refusal | undefined>(
    asking: Promise<Reservation | R>,
    late: () => R,
  ): Promise<Reservation | R> {
    const asked = turn;
    const result = await asking;
    if (!result || !isReservation(result)) return result;
    if (asked === turn) {
      granted.push(result);
      return result;
    }
    await giveBack(result);
    return late();
  }

  return {
    call,
    signal: visit.signal,
    get refusal() {
      return refusal;
    },
    admit: (lesser) => during<Refusal>(admit(lesser), () => refusal),
    wait(bounds) {
      const hasPassed = visit.holder !== undefined;
      const waiting = visit.waitFor(clock, () =>
        line.wait({
          call,
          refusal,
          refusedAtMs,
          bounds,
          hasPassed,
          leftMs: bounds.waitMs - visit.waitedMs(clock),
          signal: visit.canLeave ? visit.signal : undefined,
          frees,
          async admit(place) {
            const result = await admit(call, place);
            if (isReservation(result)) return result;
            refusal = result;
            refusedAtMs = clock.now();
            return result;
          },
          giveBack: (reservation) => void giveBack(reservation),
        }),
      );
      return during<undefined>(waiting, () => undefined);
    },
    substitutes(of) {
      const untried = facts.cheaperThan(of.model).filter((name) => !tried.has(name));
      for (const name of untried) tried.add(name);
      return untried;
    },
    onModel: (of, model) => ({ ...of, model }),
    async endTurn(found) {
      turn++;
      const unused = granted.filter((reservation) => reservation !== found);
      granted = [];
      // The last first: it may have passed on what an earlier one paid.
      await Promise.all(unused.reverse().map(giveBack));
    },
  };
}
