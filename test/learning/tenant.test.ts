import { describe, expect, it } from 'vitest';
import { tenantOf } from '../../src/learning/tenant.js';

const SCOPES = ['organization', 'user'];

describe('tenantOf', () => {
  it('is that of the widest scope, whoever of it asks', () => {
    const one = tenantOf({ organization: 'acme', user: 'ann' }, SCOPES);

    expect(tenantOf({ user: 'bob', organization: 'acme' }, SCOPES)).toBe(one);
    expect(tenantOf({ organization: 'other', user: 'ann' }, SCOPES)).not.toBe(one);
  });

  it('tells the same key of two scopes apart', () => {
    expect(tenantOf({ user: '42' }, SCOPES)).not.toBe(tenantOf({ organization: '42' }, SCOPES));
  });

  it('is one for all without a key', () => {
    expect(tenantOf({}, SCOPES)).toBe(0);
    expect(tenantOf({ session: 'x' }, SCOPES)).toBe(0);
    expect(tenantOf({ user: 'ann' }, [])).toBe(0);
  });

  it('is a whole number of 32 bits that few keys share', () => {
    const found = new Set(Array.from({ length: 10_000 }, (_, index) => tenantOf({ user: `user-${index}` }, SCOPES)));

    expect(found.size).toBeGreaterThan(9_990);
    for (const tenant of found) expect(tenant).toBe(tenant >>> 0);
  });
});
