import { createHash } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import { OptionsError, SpillwayError } from './errors.js';
import { show } from './options-check.js';

/**
 * A key for callers without an account: their IPv4 address, or the network of their IPv6 address, since one subscriber
 * holds a whole one (`2001:db8:0:1200::/56`). IPv4 in IPv6 (`::ffff:...`) is IPv4. A port, brackets and a zone are dropped.
 * @param ip - what the framework says, like `req.ip`; never a header that callers can write themselves
 * @param options - `ipv6Subnet`: bits of an IPv6 address that count, 1 to 128; 56 by default
 * @returns `undefined` when there is no address, as behind a Unix socket
 * @throws {@link SpillwayError} SPILLWAY_BAD_IDENTITY when `ip` is something else
 */
export function ipKey(ip: string | undefined, options: { readonly ipv6Subnet?: number } = {}): string | undefined {
  const bits = options.ipv6Subnet ?? 56;
  if (!Number.isInteger(bits) || bits < 1 || bits > 128)
    throw new OptionsError([`ipv6Subnet must be a whole number from 1 to 128, got ${show(bits)}; leave it out for 56`]);

  if (ip === undefined || ip === '') return undefined;
  const address = typeof ip === 'string' ? bare(ip) : '';
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) throw notAnAddress(ip);
  const groups = groupsOf(address);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) return dotted(groups[6] ?? 0, groups[7] ?? 0);
  return `${canonical(masked(groups, bits))}/${bits}`;
}

/** The address in `1.2.3.4:80`, `[::1]:80`, `[::1]` and `fe80::1%eth0`. */
function bare(ip: string): string {
  const inBrackets = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(ip);
  const withPort = /^([\d.]+):\d{1,5}$/.exec(ip);
  return (inBrackets?.[1] ?? withPort?.[1] ?? ip).replace(/^([^%]*:[^%]*)%.*$/, '$1');
}

/** The eight 16-bit groups of a valid IPv6 address. */
function groupsOf(address: string): readonly number[] {
  const [head = '', tail] = address.split('::');
  const before = readGroups(head);
  if (tail === undefined) return before;
  const after = readGroups(tail);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function readGroups(text: string): readonly number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return Number.parseInt(group, 16);
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

const dotted = (high: number, low: number): string => [high >> 8, high & 255, low >> 8, low & 255].join('.');

const masked = (groups: readonly number[], bits: number): readonly number[] =>
  groups.map((group, index) => group & (0xffff << Math.min(16, Math.max(0, 16 * (index + 1) - bits))) & 0xffff);

/** Lower case, no leading zeros, the first longest run of two or more zero groups as `::` (RFC 5952, section 4). */
function canonical(groups: readonly number[]): string {
  let run = { start: 0, length: 1 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > run.length) run = { start, length };
  }
  const hex = groups.map((group) => group.toString(16));
  if (run.length === 1) return hex.join(':');
  return `${hex.slice(0, run.start).join(':')}::${hex.slice(run.start + run.length).join(':')}`;
}

function notAnAddress(ip: unknown): SpillwayError {
  // The text itself stays out: behind a careless proxy a caller wrote it.
  const got = typeof ip === 'string' ? 'another string' : show(ip);
  return new SpillwayError(
    'SPILLWAY_BAD_IDENTITY',
    `ipKey needs an IPv4 or IPv6 address, got ${got}; pass req.ip, and set the framework's proxy trust so that it is the caller's`,
  );
}

/**
 * A key made from a secret, like an API key or an Authorization header: `sha256:` and 32 hex digits, so that the secret
 * itself reaches no store and no log. A leading `Bearer` is left out, in any case of letters.
 * @returns `undefined` when there is no secret
 */
export function secretKey(header: string | undefined): string | undefined {
  const secret = header?.trim().replace(/^bearer(?:\s+|$)/i, '');
  return secret ? `sha256:${createHash('sha256').update(secret).digest('hex').slice(0, 32)}` : undefined;
}
