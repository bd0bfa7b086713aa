import type { Call } from '../call.js';
import { SpillwayError } from '../errors.js';
import type { Step } from './step.js';

/** A prepared text, or a function that may look at the call; `undefined` passes on to the next step. */
export type StaticText = string | ((call: Call) => string | undefined | Promise<string | undefined>);

/**
 * A prepared answer in the caller's dialect and mode, marked as such, for people to read. A plain text is not given to
 * calls with tools or a demanded format, which a program reads; a function decides for itself.
 * @throws {@link SpillwayError} when the text is empty
 */
export function staticAnswer(text: StaticText): Step {
  if (typeof text !== 'function' && (typeof text !== 'string' || text === '')) {
    throw new SpillwayError('SPILLWAY_BAD_OPTIONS', 'staticAnswer needs a text, or a function of the call that returns one');
  }
  return {
    name: 'staticAnswer',
    forPeople: true,
    // To come back later is no advice for what will never fit: 413 says so.
    canHelp: ({ reason }, call) =>
      (reason !== 'never-fits' || typeof text === 'function') &&
      call.dialect !== undefined &&
      (typeof text === 'function' || !(call.draft?.hasTools || call.draft?.hasFormat)),
    async attempt({ call }) {
      const said = typeof text === 'function' ? await text(call) : text;
      return said ? { kind: 'static', model: 'spillway-static', text: said } : undefined;
    },
  };
}
