import { type ErrorCode, OptionsError } from './errors.js';

/** Bounds of a number option, both included. */
export interface Range {
  readonly least: number;
  readonly most: number;
  /** Whether `most` itself is too much. */
  readonly below?: boolean;
  readonly whole?: boolean;
  readonly mend: string;
}

/** A value that was asked for by name, with the path to it. */
export interface Entry {
  readonly name: string;
  readonly value: unknown;
  readonly path: string;
}

/**
 * Walks an options object and collects what is wrong with it, so that all faults are told together. Readers take
 * `undefined` for "not given"; after a fault they return the fallback, so that the walk goes on. Nothing is coerced.
 */
export interface Check {
  /** Notes `path text`. */
  fault(path: string, text: string): void;
  /** Notes `path must be what, got value; mend`. */
  must(path: string, what: string, got: unknown, mend: string): undefined;
  /** The own properties of an object, each one of `known`. Inherited ones are never read. */
  fields<K extends string>(
    path: string,
    given: unknown,
    known: readonly K[],
    mend: string,
  ): Readonly<Record<K, unknown>> | undefined;
  /** The own properties of an object whose names the application chooses. */
  entries(path: string, given: unknown, mend: string): readonly Entry[];
  list(path: string, given: unknown, mend: string): readonly unknown[] | undefined;
  number<F>(path: string, given: unknown, range: Range, fallback: F): number | F;
  oneOf<T extends string>(path: string, given: unknown, allowed: readonly T[], fallback: T): T;
  flag(path: string, given: unknown, fallback: boolean): boolean;
  /** A string of 1 to 128 characters. */
  text(path: string, given: unknown, mend: string): string | undefined;
  /** Distinct names out of `known`, which the message calls `what`. */
  names(path: string, given: unknown, known: readonly string[], what: string): readonly string[] | undefined;
  /** Whatever is callable; its signature is the application's word. */
  func<F>(path: string, given: unknown, mend: string): F | undefined;
  /** @throws {@link OptionsError} with every fault so far, when there is one */
  throwFaults(code?: ErrorCode): void;
}

const LONGEST_TEXT = 128;
const LONGEST_SHOWN = 60;
const MOST_SHOWN = 12;

/** @param hideText - never repeats a string that was given: it may be a key */
export function createCheck({ hideText = false }: { readonly hideText?: boolean } = {}): Check {
  const faults: string[] = [];
  const shown = (value: unknown) => (hideText && typeof value === 'string' ? 'a string' : show(value));

  const check: Check = {
    fault: (path, text) => void faults.push(`${path || 'options'} ${text}`),
    must: (path, what, got, mend) => check.fault(path, `must be ${what}, got ${shown(got)}; ${mend}`) as undefined,

    fields<K extends string>(path: string, given: unknown, known: readonly K[], mend: string) {
      const found: Record<K, unknown> = Object.create(null);
      if (!isRecord(given)) return check.must(path, 'an object', given, mend);
      for (const name of Object.keys(given)) {
        if ((known as readonly string[]).includes(name)) found[name as K] = given[name];
        else {
          const near = nearest(name, known);
          const hint = near === undefined ? `known are ${enumerate(known)}` : `did you mean ${near}?`;
          if (hideText) check.fault(path, `has an unknown option; ${hint}`);
          else check.fault(at(path, name), `is not an option; ${hint}`);
        }
      }
      return found;
    },
    entries(path, given, mend) {
      if (isRecord(given)) return Object.keys(given).map((name) => ({ name, value: given[name], path: at(path, name) }));
      return check.must(path, 'an object', given, mend) ?? [];
    },
    list: (path, given, mend) => (Array.isArray(given) ? Array.from(given) : check.must(path, 'a list', given, mend)),

    number(path, given, range, fallback) {
      const { least, most, below = false, whole = false, mend } = range;
      if (given === undefined) return fallback;
      if (
        typeof given === 'number' &&
        given >= least &&
        (below ? given < most : given <= most) &&
        (!whole || Number.isInteger(given))
      )
        return given + 0; // -0 becomes 0
      const kind = whole ? 'a whole number' : 'a number';
      return (
        check.must(path, `${kind} from ${spell(least)} to ${below ? 'less than ' : ''}${spell(most)}`, given, mend) ?? fallback
      );
    },
    oneOf(path, given, allowed, fallback) {
      if (given === undefined) return fallback;
      const found = allowed.find((value) => value === given);
      return (
        found ?? check.must(path, enumerate(allowed.map(show), 'or'), given, `leave it out for ${show(fallback)}`) ?? fallback
      );
    },
    flag(path, given, fallback) {
      if (given === undefined || typeof given === 'boolean') return given ?? fallback;
      return check.must(path, 'true or false', given, `leave it out for ${fallback}`) ?? fallback;
    },
    text(path, given, mend) {
      if (typeof given === 'string' && given.length > 0 && given.length <= LONGEST_TEXT) return given;
      return check.must(path, `a string of 1 to ${LONGEST_TEXT} characters`, given, mend);
    },
    names(path, given, known, what) {
      const list = check.list(path, given, `give names out of ${what}`);
      return list?.filter((name, index): name is string => {
        const place = `${path}[${index}]`;
        if (typeof name !== 'string' || !known.includes(name)) {
          const near = typeof name === 'string' ? nearest(name, known) : undefined;
          const all = known.length === 0 ? `there are no ${what}` : `known are ${enumerate(known.map(show))}`;
          check.must(place, `one of ${what}`, name, near === undefined ? all : `did you mean ${show(near)}?`);
          return false;
        }
        if (list.indexOf(name) < index) check.fault(place, `repeats ${show(name)}; name it once`);
        return true;
      });
    },
    func<F>(path: string, given: unknown, mend: string) {
      return typeof given === 'function' ? (given as F) : check.must(path, 'a function', given, mend);
    },
    throwFaults(code) {
      if (faults.length > 0) throw new OptionsError(Object.freeze([...faults]), code);
    },
  };
  return check;
}

/** The path of a property, as one would write it. */
export function at(path: string, name: string): string {
  if (!/^[A-Za-z_$][\w$]{0,59}$/.test(name)) return `${path}[${show(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

/** A value as a message shows it: what kind it is, and what it says when it is no object. */
export function show(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > LONGEST_SHOWN ? `${value.slice(0, LONGEST_SHOWN)}...` : value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'symbol') return 'a symbol';
  if (typeof value === 'bigint') return `${value}n`.slice(0, LONGEST_SHOWN);
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'object' || value === null) return String(value);
  return isRecord(value) ? 'an object' : `a ${tagOf(value)}`;
}

/** `a, b and c`, cut when there are many. */
export function enumerate(names: readonly string[], last = 'and'): string {
  if (names.length > MOST_SHOWN) return `${names.slice(0, MOST_SHOWN).join(', ')}, ...`;
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} ${last} ${names.at(-1)}`;
}

/** The known name that was probably meant: at most two slips of the keyboard away, one for short names. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: { readonly name: string; readonly slips: number } | undefined;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > 2) continue;
    const found = slips(name.toLowerCase(), candidate.toLowerCase());
    if (found <= Math.min(2, candidate.length / 3) && found < (best?.slips ?? Number.POSITIVE_INFINITY))
      best = { name: candidate, slips: found };
  }
  return best?.name;
}

/** Letters to change, add, drop or swap with their neighbour to turn `a` into `b` (optimal string alignment). */
function slips(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let least = Math.min(num(above[column]) + 1, num(current[column - 1]) + 1, num(above[column - 1]) + (same ? 0 : 1));
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        least = Math.min(least, num(before[column - 2]) + 1);
      current.push(least);
    }
    before = above;
    above = current;
  }
  return num(above[b.length]);
}

const num = (value: number | undefined): number => value as number;
const spell = (value: number): string => String(value).replace(/\B(?=(?:\d{3})+$)/g, '_');
const tagOf = (value: object): string => Object.prototype.toString.call(value).slice(8, -1);

/** An object whose properties say something: not a list, a Map or a promise, which look empty when read as one. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && ['Object', 'Module'].includes(tagOf(value));
}
