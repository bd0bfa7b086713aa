import type { NextFunction, Request, Response } from 'express';
import { type Gate, type MountOptions, type Passage, SpillwayError } from '../src/index.js';

declare global {
  namespace Express {
    interface Request {
      /** What spillway knows of this request; there once its middleware let it pass. */
      spillway?: Passage;
    }
  }
}

/** Express middleware as `spillway` returns it. */
export type SpillwayMiddleware = (req: Request, res: Response, next: NextFunction) => void;

/**
 * Governs the routes behind it. Mount it after authentication and, when there is one, after the JSON parser.
 * @throws {@link OptionsError} with every fault in the options
 */
export function spillway<Scopes extends string>(
  gate: Gate<Scopes>,
  options: MountOptions<Scopes, Request> = {},
): SpillwayMiddleware {
  const pass = gate.mount<Request>(options);
  return function spillwayMiddleware(req, res, next) {
    pass({
      req,
      res,
      subject: req,
      expose({ passage }) {
        req.spillway = passage;
      },
      proceed(body) {
        if (body !== req.body) req.body = body;
        next();
      },
    }).catch((thrown: unknown) => next(faultOf(thrown)));
  };
}

/** To Express nothing, 'route' and 'router' are no errors but the word to go on: what was thrown must not open the gate. */
function faultOf(thrown: unknown): unknown {
  if (thrown && thrown !== 'route' && thrown !== 'router') return thrown;
  return new Error(`an option of spillway's mount threw ${String(thrown)}, which is no error`);
}

/**
 * What spillway knows of a request.
 * @throws {@link SpillwayError} `SPILLWAY_NO_PASSAGE` when its middleware did not run before, or skipped the request
 */
export function spillwayOf(req: Request): Passage {
  if (req.spillway) return req.spillway;
  throw new SpillwayError(
    'SPILLWAY_NO_PASSAGE',
    'spillway did not see this request; mount spillway(gate, ...) before the handler, and check its skip option',
  );
}
