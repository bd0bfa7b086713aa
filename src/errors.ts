const brand: unique symbol = Symbol.for('spillway.error') as never;

/** Stable codes of everything spillway throws. Public API: listed in the README, never reused. */
export type ErrorCode =
  | 'SPILLWAY_BAD_OPTIONS'
  | 'SPILLWAY_BAD_BUDGET'
  | 'SPILLWAY_BAD_IDENTITY'
  | 'SPILLWAY_BAD_CALL'
  | 'SPILLWAY_NO_PASSAGE'
  | 'SPILLWAY_BODY_TOO_DEEP'
  | 'SPILLWAY_BODY_TOO_WIDE'
  | 'SPILLWAY_STALLED'
  | 'SPILLWAY_STORE_AWAY';

/** What spillway throws: for misuse, and for broken dependencies. A full budget is never an error but a refusal. */
export class SpillwayError extends Error {
  readonly [brand] = true as const;
  readonly code: ErrorCode;
  /** HTTP status an adapter or the framework's error handler should answer with. */
  readonly status: number;
  /** Whether the message may be shown to the caller. */
  readonly expose: boolean;

  constructor(code: ErrorCode, message: string, options: ErrorOptions & { status?: number } = {}) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.status = options.status ?? 500;
    this.expose = this.status < 500;
  }

  /** Recognises errors of any installed copy of the package, by brand and not by prototype. */
  static is(error: unknown): error is SpillwayError {
    return typeof error === 'object' && error !== null && brand in error;
  }
}

/** Every fault found in an options object, each with its path and its mend. */
export class OptionsError extends SpillwayError {
  readonly faults: readonly string[];

  constructor(faults: readonly string[], code: ErrorCode = 'SPILLWAY_BAD_OPTIONS') {
    super(code, faults.length === 1 ? (faults[0] as string) : `${faults.length} faults:\n- ${faults.join('\n- ')}`);
    this.faults = faults;
  }
}
