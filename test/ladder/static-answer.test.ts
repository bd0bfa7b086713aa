import { describe, expect, it } from 'vitest';
import { staticAnswer } from '../../src/ladder/static-answer.js';
import { callOf, draftOf, fullOf, walkOf } from '../support/builders.js';

const refusal = fullOf({ a: 100 });

describe('staticAnswer', () => {
  it('answers with its text, marked as prepared', async () => {
    expect(await staticAnswer('Please try again.').attempt(walkOf())).toEqual({
      kind: 'static',
      model: 'spillway-static',
      text: 'Please try again.',
    });
  });

  it('is meant for people', () => {
    expect(staticAnswer('Please try again.').forPeople).toBe(true);
  });

  it('leaves out calls that a program reads', () => {
    const step = staticAnswer('Please try again.');

    expect(step.canHelp(refusal, callOf())).toBe(true);
    expect(step.canHelp(refusal, callOf({ draft: draftOf({ hasTools: true }) }))).toBe(false);
    expect(step.canHelp(refusal, callOf({ draft: draftOf({ hasFormat: true }) }))).toBe(false);
    expect(step.canHelp(refusal, callOf({ dialect: undefined }))).toBe(false);
  });

  it('lets a function decide about those', () => {
    const step = staticAnswer(() => 'no');

    expect(step.canHelp(refusal, callOf({ draft: draftOf({ hasTools: true }) }))).toBe(true);
    expect(step.canHelp(refusal, callOf({ dialect: undefined }))).toBe(false);
  });

  it('answers with what a function makes of the call, now or later', async () => {
    const call = callOf({ requestedModel: 'gpt-4o' });

    expect(await staticAnswer((of) => `no ${of.requestedModel}`).attempt(walkOf({ call }))).toMatchObject({ text: 'no gpt-4o' });
    expect(await staticAnswer(async () => 'later').attempt(walkOf({ call }))).toMatchObject({ text: 'later' });
  });

  it.each([undefined, ''])('passes on when the function returns %j', async (text) => {
    expect(await staticAnswer(() => text).attempt(walkOf())).toBeUndefined();
  });

  it.each([['', undefined, 42]])('refuses %j for a text', (text) => {
    expect(() => staticAnswer(text as never)).toThrow('staticAnswer needs a text');
  });
});
