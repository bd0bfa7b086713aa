import type { RefuseWith } from './call.js';
import { type Clock, systemClock } from './clock.js';
import type { Dialect } from './dialects/dialect.js';
import { isRefusing } from './http/render.js';
import type { Step } from './ladder/step.js';
import type { Logger } from './observe/events.js';
import type { Ledger } from './observe/ledger.js';
import { at, type Check, enumerate } from './options-check.js';
import type { Store } from './stores/store.js';
import type { TellImageSize } from './tokens/told-sizes.js';

/** Checks a ladder: a list of steps, which may be empty. */
export function readLadder(check: Check, path: string, given: unknown, fallback: readonly Step[]): readonly Step[] {
  if (given === undefined) return fallback;
  const list = check.list(path, given, 'give steps like [queue({ waitMs: 1_000 }), cheaperModel()], or [] for none');
  list?.forEach((value, index) => {
    const place = `${path}[${index}]`;
    const mend = typeof value === 'function' ? 'call it, like queue()' : 'give one like cheaperModel()';
    const step = readPart(check, place, value, 'a step', ['canHelp', 'attempt'], mend, ['learn']);
    if (!step) return;
    check.text(at(place, 'name'), step.name, 'name the step, for events');
    check.flag(at(place, 'forPeople'), step.forPeople, false);
    const sizes = { least: 0, most: Number.MAX_SAFE_INTEGER, whole: true, mend: 'give bytes like 262_144' };
    check.number(at(place, 'learnBytes'), step.learnBytes, sizes, 0);
  });
  return Object.freeze([...((list ?? []) as readonly Step[])]);
}

const DIALECT_METHODS = ['read', 'rewrite', 'usage', 'text', 'isUsageOnly', 'collect', 'answer', 'error'] as const;

/** Checks a wire format. `undefined` after a fault. */
export function readDialect(check: Check, path: string, given: unknown): Dialect | undefined {
  const dialect = readPart(
    check,
    path,
    given,
    'a dialect',
    DIALECT_METHODS,
    'spread a built-in one, like { ...openaiChat, name, read }',
    ['limits', 'rewritePath'],
  );
  if (!dialect || check.text(at(path, 'name'), dialect.name, 'name the dialect') === undefined) return undefined;
  return given as Dialect;
}

/** Checks which status refusals get; what a function returns is looked at when it does. */
export function readRefuseWith(
  check: Check,
  path: string,
  given: unknown,
  fallback: RefuseWith | undefined,
): RefuseWith | undefined {
  if (given === undefined) return fallback;
  if (typeof given === 'function') return given as RefuseWith;
  if (typeof given === 'number' && isRefusing(given)) return given;
  const mend = 'give one like 402, or (refusal) => (refusal.reason === "full" ? 402 : undefined)';
  return check.must(path, 'a whole number from 400 to 599 or a function', given, mend) ?? fallback;
}

/** Checks a list of wire formats. */
export function readDialects(check: Check, path: string, given: unknown): readonly Dialect[] {
  const list = given === undefined ? [] : (check.list(path, given, 'give dialects, like [{ ...openaiChat, name, read }]') ?? []);
  return Object.freeze(list.flatMap((value, index) => readDialect(check, `${path}[${index}]`, value) ?? []));
}

/** Checks a store; `undefined` when none was given, or after a fault. */
export function readStore(check: Check, path: string, given: unknown): Store | undefined {
  if (given === undefined) return undefined;
  const methods = ['reserve', 'settle', 'renew', 'peek', 'close'];
  return readPart(check, path, given, 'a store', methods, 'give one like memoryStore()', ['onNotice']) && (given as Store);
}

/** Checks a ledger; `undefined` when none was given, or after a fault. */
export function readLedger(check: Check, path: string, given: unknown): Ledger | undefined {
  if (given === undefined) return undefined;
  const methods = ['add', 'addAnswer', 'usage'];
  const mend = 'give one like redisLedger(client), or leave it out';
  return readPart(check, path, given, 'a ledger', methods, mend, ['onNotice', 'close']) && (given as Ledger);
}

/** Checks a clock. */
export function readClock(check: Check, path: string, given: unknown): Clock {
  if (given === undefined) return systemClock;
  const clock = readPart(check, path, given, 'a clock', ['now', 'after'], "leave it out for the machine's");
  return clock ? (given as Clock) : systemClock;
}

/** Checks a logger; `undefined` when none was given, or after a fault. */
export function readLogger(check: Check, path: string, given: unknown): Logger | undefined {
  if (given === undefined) return undefined;
  return readPart(check, path, given, 'a logger', ['info', 'warn'], 'give one like pino()') && (given as Logger);
}

/** Checks a function that tells sizes of images; `undefined` when none was given, or after a fault. */
export function readImageSize(check: Check, path: string, given: unknown): TellImageSize | undefined {
  if (given === undefined) return undefined;
  return check.func<TellImageSize>(path, given, 'give one like (address) => ({ width: 800, height: 600 })');
}

/**
 * Checks an object that the application brings along with its methods, own or inherited. Only what is called is looked at:
 * the rest is its own affair.
 */
function readPart(
  check: Check,
  path: string,
  given: unknown,
  what: string,
  methods: readonly string[],
  mend: string,
  optional: readonly string[] = [],
): Readonly<Record<string, unknown>> | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return check.must(path, what, given, mend);
  const part = given as Readonly<Record<string, unknown>>;
  const lacking = methods.filter((method) => typeof part[method] !== 'function');
  for (const method of optional) if (part[method] !== undefined) check.func(at(path, method), part[method], 'leave it out');
  if (lacking.length === 0) return part;
  check.fault(path, `must be ${what}, which has the methods ${enumerate(methods)}, but lacks ${enumerate(lacking)}; ${mend}`);
  return undefined;
}
