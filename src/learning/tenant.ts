import type { Identity } from '../call.js';

/** Whoever has no key is one tenant with all others without. */
const NOBODY = 0;

/**
 * Who is to weigh no more than others: the key of the widest scope that an identity has, as a number of 32 bits, so that keys of any
 * length take no memory. Two keys that fall on one number count as one tenant, which harms no estimate.
 * @param scopeNames - widest first
 */
export function tenantOf(identity: Identity, scopeNames: readonly string[]): number {
  for (const scope of scopeNames) {
    const key = identity[scope];
    if (key !== undefined) return hash(key, hash(scope, 0x811c9dc5));
  }
  return NOBODY;
}

/** FNV-1a over UTF-16 units. */
function hash(text: string, start: number): number {
  let value = start;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
}
