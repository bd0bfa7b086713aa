import { createHash } from 'node:crypto';
import { BlockList } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OptionsError, SpillwayError } from '../src/errors.js';
import { ipKey, secretKey } from '../src/keys.js';

describe('ipKey', () => {
  it.each<[string, string]>([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:51234', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:203.0.113.7', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
    ['0:0:0:0:0:ffff:cb00:7107', '203.0.113.7'],
    ['[::ffff:203.0.113.7]:443', '203.0.113.7'],
    ['2001:db8:1:12ff:5:6:7:8', '2001:db8:1:1200::/56'],
    ['2001:DB8:0001:1200::1', '2001:db8:1:1200::/56'],
    ['[2001:db8:1:12ff::1]', '2001:db8:1:1200::/56'],
    ['[2001:db8:1:12ff::1]:8080', '2001:db8:1:1200::/56'],
    ['fe80::1%eth0', 'fe80::/56'],
    ['[fe80::1%25eth0]:80', 'fe80::/56'],
    ['::1', '::/56'],
    ['::', '::/56'],
    ['64:ff9b::203.0.113.7', '64:ff9b::/56'],
  ])('gives for %s the address or its network', (ip, key) => {
    expect(ipKey(ip)).toBe(key);
  });

  it.each<[number, string]>([
    [1, '8000::/1'],
    [32, 'a001:db8::/32'],
    [60, 'a001:db8:0:12f0::/60'],
    [64, 'a001:db8:0:12ff::/64'],
    [128, 'a001:db8:0:12ff:0:6:0:8/128'],
  ])('counts %d bits of an IPv6 address when asked to', (ipv6Subnet, key) => {
    expect(ipKey('a001:db8:0:12ff:0:6:0:8', { ipv6Subnet })).toBe(key);
  });

  it('leaves IPv4 whole whatever the subnet of IPv6', () => {
    expect(ipKey('::ffff:203.0.113.7', { ipv6Subnet: 32 })).toBe('203.0.113.7');
  });

  it.each([
    ['unknown'],
    ['203.0.113'],
    ['203.0.113.256'],
    ['203.0.113.07'],
    ['203.0.113.7:'],
    ['203.0.113.7:port'],
    ['203.0.113.7%eth0'],
    ['203.0.113.7, 10.0.0.1'],
    [' 203.0.113.7'],
    ['1:2:3:4:5:6:7'],
    ['1:2:3:4:5:6:7:8:9'],
    ['::1::'],
    ['[::1'],
    ['g::1'],
    ['::ffff:203.0.113.7:80'],
    [null],
    [17],
  ])('refuses %j without repeating it', (ip) => {
    let thrown: unknown;
    try {
      ipKey(ip as string);
    } catch (error) {
      thrown = error;
    }

    expect(SpillwayError.is(thrown)).toBe(true);
    expect(thrown).toMatchObject({ code: 'SPILLWAY_BAD_IDENTITY', status: 500 });
    const got = typeof ip === 'string' ? 'another string' : String(ip);
    expect((thrown as Error).message).toBe(
      `ipKey needs an IPv4 or IPv6 address, got ${got}; pass req.ip, and set the framework's proxy trust so that it is the caller's`,
    );
  });

  it.each([undefined, ''])('gives no key for %j: nobody is named', (ip) => {
    expect(ipKey(ip)).toBeUndefined();
  });

  it.each([[0], [129], [56.5], [Number.NaN], ['56']])('refuses a subnet of %j', (ipv6Subnet) => {
    expect(() => ipKey('::1', { ipv6Subnet: ipv6Subnet as number })).toThrow(OptionsError);
  });

  const address = fc
    .array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), { minLength: 8, maxLength: 8 })
    .filter((groups) => !(groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff));
  const text = (groups: readonly number[]) => groups.map((group) => group.toString(16)).join(':');

  it('gives two addresses one key exactly when one network holds both', () => {
    const flip = fc.integer({ min: 0, max: 127 });
    fc.assert(
      fc.property(address, flip, fc.integer({ min: 1, max: 128 }), (groups, bit, ipv6Subnet) => {
        const other = groups.map((group, index) => (index === bit >> 4 ? group ^ (1 << (15 - (bit & 15))) : group));
        fc.pre(!ipKey(text(other))?.includes('.'));
        const network = new BlockList();
        network.addSubnet(text(groups), ipv6Subnet, 'ipv6');

        const isSame = ipKey(text(groups), { ipv6Subnet }) === ipKey(text(other), { ipv6Subnet });

        expect(isSame).toBe(network.check(text(other), 'ipv6'));
      }),
      { numRuns: 2_000 },
    );
  });

  it('names the network in its canonical form', () => {
    fc.assert(
      fc.property(address, fc.integer({ min: 1, max: 128 }), (groups, ipv6Subnet) => {
        const [network = '', bits] = (ipKey(text(groups), { ipv6Subnet }) ?? '').split('/');

        expect(bits).toBe(String(ipv6Subnet));
        // The URL parser of the platform writes RFC 5952 too.
        expect(`[${network}]`).toBe(new URL(`http://[${network}]/`).hostname);
      }),
      { numRuns: 2_000 },
    );
  });

  it('gives mapped addresses the key of what they map, in both spellings', () => {
    fc.assert(
      fc.property(fc.ipV4(), (ip) => {
        const [a = 0, b = 0, c = 0, d = 0] = ip.split('.').map(Number);

        expect(ipKey(`::ffff:${ip}`)).toBe(ip);
        expect(ipKey(`::ffff:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`)).toBe(ip);
      }),
    );
  });

  it('reads every spelling of an IPv6 address, and fails on other strings with its own error only', () => {
    fc.assert(fc.property(fc.ipV6(), (ip) => void expect(ipKey(ip)).toMatch(/^([0-9a-f:]+\/56|[\d.]+)$/)));
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[[\]\da-f:.%]{0,40}$/)), (ip) => {
        try {
          ipKey(ip);
        } catch (error) {
          expect(SpillwayError.is(error)).toBe(true);
        }
      }),
    );
  });
});

describe('secretKey', () => {
  const key = secretKey('sk-1');

  it('hashes a secret to 32 hex digits', () => {
    expect(key).toBe(`sha256:${createHash('sha256').update('sk-1').digest('hex').slice(0, 32)}`);
  });

  it.each([['Bearer sk-1'], ['bearer  sk-1'], ['  sk-1 '], [' BEARER sk-1\t']])(
    'gives %j the key of the secret in it',
    (header) => {
      expect(secretKey(header)).toBe(key);
    },
  );

  it.each([['sk-2'], ['Bearersk-1'], ['Bearer Bearer sk-1'], ['Basic sk-1']])('gives %j a key of its own', (header) => {
    expect(secretKey(header)).toMatch(/^sha256:[0-9a-f]{32}$/);
    expect(secretKey(header)).not.toBe(key);
  });

  it.each([[undefined], [''], ['  '], ['Bearer'], ['Bearer   ']])('gives none for %j', (header) => {
    expect(secretKey(header)).toBeUndefined();
  });
});
