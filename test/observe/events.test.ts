import { describe, expect, it, vi } from 'vitest';
import { createEvents } from '../../src/observe/events.js';

const EVENT = { model: 'gpt-4o' };

describe('events', () => {
  it('reach every listener of their name, and of no other', () => {
    const events = createEvents();
    const [one, two, other] = [vi.fn(), vi.fn(), vi.fn()];
    events.on('context-missing', one);
    events.on('context-missing', two);
    events.on('store-notice', other);

    events.emit('context-missing', EVENT);

    expect(one).toHaveBeenCalledWith(EVENT);
    expect(two).toHaveBeenCalledWith(EVENT);
    expect(other).not.toHaveBeenCalled();
  });

  it('stop when the listener was taken off, once or twice', () => {
    const events = createEvents();
    const listener = vi.fn();
    const off = events.on('context-missing', listener);
    expect(events.has('context-missing')).toBe(true);

    off();
    off();
    events.emit('context-missing', EVENT);

    expect(listener).not.toHaveBeenCalled();
    expect(events.has('context-missing')).toBe(false);
  });

  it('harm nobody when a listener throws', () => {
    const events = createEvents();
    const next = vi.fn();
    events.on('context-missing', () => {
      throw new Error('broken listener');
    });
    events.on('context-missing', next);

    expect(() => events.emit('context-missing', EVENT)).not.toThrow();
    expect(next).toHaveBeenCalled();
  });

  it('harm nobody when a listener rejects later', async () => {
    const events = createEvents();
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    events.on('context-missing', async () => {
      throw new Error('broken listener');
    });

    events.emit('context-missing', EVENT);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);

    expect(unhandled).not.toHaveBeenCalled();
  });

  it('do not go round for ever when a listener adds another', () => {
    const events = createEvents();
    let added = 0;
    const add = () => {
      if (added++ < 1_000) events.on('context-missing', () => add());
    };
    events.on('context-missing', add);

    events.emit('context-missing', EVENT);

    expect(added).toBe(1);
  });

  it('are known to be wanted only while somebody listens', () => {
    expect(createEvents().has('request-answered')).toBe(false);
  });
});
