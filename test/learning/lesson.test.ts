import { describe, expect, it } from 'vitest';
import type { Ending, Usage } from '../../src/call.js';
import { type LessonFacts, lessonOf } from '../../src/learning/lesson.js';
import { callOf } from '../support/builders.js';

const USAGE: Usage = { inputTokens: 120, outputTokens: 80 };
const ended = (ending: Partial<Ending> = {}): Ending => ({
  by: 'done',
  status: 200,
  usage: USAGE,
  sentOutputTokens: undefined,
  ...ending,
});

function lesson(facts: Partial<LessonFacts> = {}) {
  return lessonOf({
    call: callOf(),
    ending: ended(),
    kind: 'call',
    runsSeen: 0,
    verdict: undefined,
    answeredBy: undefined,
    ...facts,
  });
}

describe('a run teaches', () => {
  it('what the provider reported', () => {
    expect(lesson()).toEqual({ inputTokens: 120, outputTokens: 80, isCut: false });
    expect(lesson({ answeredBy: 'gpt-4o' })).toEqual({ inputTokens: 120, outputTokens: 80, isCut: false });
  });

  it('what the application says instead, however the answer ended', () => {
    const verdict = { usage: { inputTokens: 9, outputTokens: 8 } };

    expect(lesson({ verdict, ending: ended({ by: 'left', status: 0 }) })).toEqual({
      inputTokens: 9,
      outputTokens: 8,
      isCut: false,
    });
  });

  it('the prompt of a stream whose end nobody waited for, and that its answer was cut', () => {
    const usage = { inputTokens: 120, outputTokens: undefined };

    for (const by of ['left', 'stalled', 'failed'] as const)
      expect(lesson({ ending: ended({ by, usage, sentOutputTokens: 5 }) })).toEqual({ ...usage, isCut: true });
  });

  it('that an answer as long as it may be was cut', () => {
    expect(lesson({ call: callOf({ maximumOutputTokens: 80 }) })).toMatchObject({ isCut: true });
    expect(lesson({ call: callOf({ maximumOutputTokens: 81 }) })).toMatchObject({ isCut: false });
    expect(lesson({ call: callOf({ maximumOutputTokens: undefined }) })).toMatchObject({ isCut: false });
  });

  it('when it made calls of other models on its way', () => {
    expect(lesson({ kind: 'call', runsSeen: 2 })).toBeDefined();
  });
});

describe('a run teaches nothing', () => {
  it.each<[string, Partial<LessonFacts>]>([
    ['when nothing was reported', { ending: ended({ usage: undefined, sentOutputTokens: 80 }) }],
    ['when it failed', { ending: ended({ status: 500 }) }],
    ['when no answer came', { ending: ended({ status: 0 }) }],
    ['when the application took it back', { verdict: 'cancel' }],
    ['about a model that was not asked', { call: callOf({ model: 'gpt-4o-mini' }) }],
    ['when a gateway let another model answer', { answeredBy: 'gpt-4o-mini' }],
    ['when it is the request around other runs', { kind: 'request', runsSeen: 1 }],
    ['when it stands for several calls', { call: callOf({ callsPerRequest: 3 }) }],
  ])('%s', (_, facts) => {
    expect(lesson(facts)).toBeUndefined();
  });
});
