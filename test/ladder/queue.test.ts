import { describe, expect, it, vi } from 'vitest';
import { type QueueOptions, queue } from '../../src/ladder/queue.js';
import type { Walk } from '../../src/ladder/step.js';
import { callOf, fullOf, walkOf } from '../support/builders.js';
import { heldBy } from '../support/waiting.js';

describe('queue', () => {
  it('helps where time may make room, and nowhere else', () => {
    const step = queue({ waitMs: 1_000 });

    expect(step.canHelp(fullOf({ a: 100 }), callOf())).toBe(true);
    expect(step.canHelp({ ...fullOf({ a: Infinity }), reason: 'never-fits' }, callOf())).toBe(false);
    expect(step.canHelp({ reason: 'closed', full: [], waitMs: 1_000 }, callOf())).toBe(false);
  });

  it('waits within its bounds, and gives what the wait gives', async () => {
    const held = heldBy(callOf());
    const wait = vi.fn<Walk['wait']>().mockResolvedValueOnce(held).mockResolvedValueOnce(undefined);
    const step = queue({ waitMs: 2_000, maxRequests: 5, maxTokens: 10_000 });

    expect(await step.attempt(walkOf({ wait }))).toBe(held);
    expect(await step.attempt(walkOf({ wait }))).toBeUndefined();
    expect(wait).toHaveBeenCalledWith({ waitMs: 2_000, maxRequests: 5, maxTokens: 10_000 });
  });

  it('is bounded to 200 requests and a million tokens unless told otherwise', async () => {
    const wait = vi.fn<Walk['wait']>().mockResolvedValue(undefined);

    await queue({ waitMs: 1_000 }).attempt(walkOf({ wait }));

    expect(wait).toHaveBeenCalledWith({ waitMs: 1_000, maxRequests: 200, maxTokens: 1_000_000 });
  });

  it.each<[keyof QueueOptions, unknown, string]>([
    ['waitMs', 0, '0'],
    ['waitMs', '2s', '"2s"'],
    ['waitMs', undefined, 'undefined'],
    ['maxRequests', 1.5, '1.5'],
    ['maxTokens', Infinity, 'Infinity'],
  ])('refuses %s of %s, saying what to give', (option, value, shown) => {
    const options = { waitMs: 1_000, [option]: value } as QueueOptions;

    expect(() => queue(options)).toThrow(
      `queue.${option} must be a whole number above 0, got ${shown}; give a number like 2_000`,
    );
  });

  it.each([
    [undefined, 'queue needs an object of options, got undefined; known are waitMs, maxRequests, maxTokens'],
    [{ waitms: 2 }, 'queue.waitms is not an option; did you mean waitMs?'],
    [{ waitMs: 2, size: 5 }, 'queue.size is not an option; known are waitMs, maxRequests, maxTokens'],
  ])('refuses %j, saying what to give', (options, message) => {
    expect(() => queue(options as unknown as QueueOptions)).toThrow(message);
  });
});
