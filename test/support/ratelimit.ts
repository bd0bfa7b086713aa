import { expect } from 'vitest';

export interface Item {
  readonly name: string;
  readonly params: Readonly<Record<string, string | number>>;
}

/** Reads a list of strings with parameters as RFC 9651 has them, and nothing that is not one. */
export function parseList(text: string): Item[] {
  let at = 0;
  const take = (pattern: RegExp): string => {
    const sticky = new RegExp(pattern, 'y');
    sticky.lastIndex = at;
    const [found] = sticky.exec(text) ?? [];
    if (found === undefined) throw new Error(`no ${pattern} at ${at} of ${text}`);
    at += found.length;
    return found;
  };
  const string = () =>
    take(/"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"/)
      .slice(1, -1)
      .replace(/\\(.)/g, '$1');
  const items: Item[] = [];
  do {
    if (items.length > 0) take(/, /);
    const name = string();
    const params: Record<string, string | number> = {};
    while (text[at] === ';') {
      const key = take(/;[a-z*][a-z0-9_.*-]*=/).slice(1, -1);
      if (key in params) throw new Error(`${key} comes twice in ${text}`);
      params[key] = text[at] === '"' ? string() : Number(take(/-?\d{1,15}(?![\d.])/));
    }
    items.push({ name, params });
  } while (at < text.length);
  return items;
}

/** Milliseconds of a duration as Go reads it. */
export function parseGoDuration(text: string): number {
  const milliseconds = /^(\d+)ms$/.exec(text);
  if (milliseconds) return Number(milliseconds[1]);
  const found = /^(?:(\d+)h)?(?:(\d+)m)?(\d+(?:\.\d+)?)s$/.exec(text);
  if (!found) throw new Error(`${text} is no duration`);
  const [hours = 0, minutes = 0, seconds = 0] = found.slice(1).map((part) => Number(part ?? 0));
  return Math.round((hours * 3_600 + minutes * 60 + seconds) * 1_000);
}

/** Epoch milliseconds of an instant of RFC 3339 in UTC. */
function parseInstant(text: string): number {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text)) throw new Error(`${text} is no instant`);
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new Error(`${text} is no instant`);
  return ms;
}

/** Fails where a header about limits does not parse, or contradicts another. */
export function checkAll(headers: Readonly<Record<string, string>>, nowMs: number): void {
  const policies = new Map(parseMaybe(headers['ratelimit-policy']).map(({ name, params }) => [name, params]));
  expect(policies.size).toBe(parseMaybe(headers['ratelimit-policy']).length);
  for (const { q, w = 1, qu = 'requests', ...rest } of policies.values()) {
    expect(q).toBeGreaterThanOrEqual(0);
    expect(w).toBeGreaterThanOrEqual(1);
    expect(['requests', 'tokens', 'concurrent-requests']).toContain(qu);
    expect(rest).toEqual({});
  }
  for (const { name, params } of parseMaybe(headers.ratelimit)) {
    const { r, t, ...rest } = params as Record<string, number>;
    expect(rest).toEqual({});
    expect(r).toBeGreaterThanOrEqual(0);
    expect(r).toBeLessThanOrEqual(policies.get(name)?.q as number);
    if (t === undefined) continue;
    expect(t).toBeGreaterThanOrEqual(1);
    expect(t).toBeLessThanOrEqual(Number(headers['retry-after'] ?? Infinity));
  }
  for (const [name, value] of Object.entries(headers)) {
    const [, figure] = /^(?:x|anthropic)-ratelimit-.*?(limit|remaining|reset)(?:-(?:requests|tokens))?$/.exec(name) ?? [];
    if (figure === 'reset' && name.startsWith('x-')) expect(parseGoDuration(value)).toBeGreaterThanOrEqual(0);
    else if (figure === 'reset') expect(parseInstant(value)).toBeGreaterThanOrEqual(Math.floor(nowMs / 1_000) * 1_000);
    else if (figure) expect(value).toMatch(/^\d+$/);
  }
}

const parseMaybe = (text: string | undefined): Item[] => (text === undefined ? [] : parseList(text));
