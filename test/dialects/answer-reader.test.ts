import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AnswerReaderFacts, createAnswerReader } from '../../src/dialects/answer-reader.js';
import { openaiChat } from '../../src/dialects/openai-chat.js';
import { mergeUsage, readUsage } from '../../src/dialects/reading.js';

const STREAM = 'text/event-stream; charset=utf-8';
const JSON_TYPE = 'application/json';

function read(pieces: readonly (string | Uint8Array)[], facts: Partial<AnswerReaderFacts> = {}, isComplete = true) {
  const reader = createAnswerReader({
    dialect: openaiChat,
    contentType: STREAM,
    tapBytes: 1_000_000,
    learnBytes: 0,
    countText: (text) => text.length,
    ...facts,
  });
  for (const piece of pieces) reader.push(typeof piece === 'string' ? Buffer.from(piece) : piece);
  return reader.findings(isComplete);
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const said = (content: string) => event({ choices: [{ index: 0, delta: { content } }] });
const usage = event({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 4 } });

describe('an answer that reports usage', () => {
  it.each([
    ['a stream', STREAM, [said('abc'), usage, 'data: [DONE]\n\n']],
    ['a stream without its last blank line', STREAM, [said('abc'), usage.trimEnd()]],
    ['JSON', JSON_TYPE, ['{"usage":{"prompt_tokens":9,', '"completion_tokens":4}}']],
    ['JSON of a vendor', 'application/vnd.x+json', ['{"usage":{"prompt_tokens":9,"completion_tokens":4}}']],
  ])('in %s is read from it', (_, contentType, pieces) => {
    expect(read(pieces, { contentType })).toMatchObject({ usage: { inputTokens: 9, outputTokens: 4 }, outputTokens: 4 });
  });

  it('and more of it later has the later figures, and the earlier ones where the later say nothing', () => {
    expect(mergeUsage({ inputTokens: 9, outputTokens: 1 }, { inputTokens: undefined, outputTokens: 4 })).toEqual({
      inputTokens: 9,
      outputTokens: 4,
    });
  });

  it('too early is taken for what came till then: the text after it is counted', () => {
    const early = event({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 1 } });

    expect(read([early, said('abcdef')])).toMatchObject({ usage: { inputTokens: 9, outputTokens: 6 }, outputTokens: 6 });
    expect(read([early, said('abcdef')], {}, false)).toMatchObject({ usage: { inputTokens: 9, outputTokens: 6 } });
    expect(read([said('abc'), usage, said('d')])).toMatchObject({ outputTokens: 4 });
  });

  it('with each piece of text is the last of them', () => {
    const withUsage = (content: string, completion_tokens: number) =>
      event({ choices: [{ index: 0, delta: { content } }], usage: { prompt_tokens: 9, completion_tokens } });

    expect(read([withUsage('abcdef', 1), withUsage('ghijkl', 2)], {}, false)).toMatchObject({
      usage: { inputTokens: 9, outputTokens: 2 },
    });
  });

  it('is read however its bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 200 })), (cuts) => {
        const bytes = Buffer.from(said('héllo 🌊') + usage);
        const places = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])].sort((a, b) => a - b);
        const pieces = places.slice(1).map((place, index) => bytes.subarray(places[index], place));

        expect(read(pieces)).toMatchObject({ usage: { inputTokens: 9, outputTokens: 4 } });
      }),
    );
  });
});

describe('an answer without usage is counted', () => {
  it('by the text of its events', () => {
    expect(read([said('abc'), said('de')]).outputTokens).toBe(5);
  });

  it('by the text of its events so far when it was left', () => {
    expect(read([said('abc'), said('de').slice(0, 20)], {}, false).outputTokens).toBe(3);
  });

  it('by the text of its JSON', () => {
    const body = JSON.stringify({ choices: [{ message: { content: 'abcdefg' } }] });
    expect(read([body], { contentType: JSON_TYPE }).outputTokens).toBe(7);
  });

  it.each<[string, string, string[], Partial<AnswerReaderFacts>]>([
    ['JSON that breaks off', JSON_TYPE, ['{"choices":'], {}],
    ['JSON longer than may be looked at', JSON_TYPE, ['{"choi', 'ces":[]}'], { tapBytes: 8 }],
    ['JSON in which nothing may be looked at', JSON_TYPE, ['{"choices":[]}'], { tapBytes: 0 }],
    ['another type', 'audio/mpeg', ['0123456789'], {}],
    ['no type', '', ['0123456789'], {}],
  ])('by a quarter of its bytes for %s', (_, contentType, pieces, facts) => {
    expect(read(pieces, { contentType, ...facts }).outputTokens).toBe(Math.ceil(pieces.join('').length / 4));
  });

  it('by the length of events that are longer than may be looked at, beside the text of the others', () => {
    const long = said('x'.repeat(4_000));

    const { outputTokens } = read([said('abc'), long], { tapBytes: 1_000 });

    expect(outputTokens).toBeGreaterThanOrEqual(3 + long.length / 4);
    expect(outputTokens).toBeLessThan(3 + (long.length + said('abc').length) / 4);
  });

  it('by the length of its events when nothing may be looked at', () => {
    const { outputTokens } = read([said('abc'), said('de')], { tapBytes: 0 });

    expect(outputTokens).toBe(Math.ceil((said('abc') + said('de')).length / 4));
  });

  it('at the rate of its beginning when its text is very long', () => {
    const pieces = Array.from({ length: 40 }, () => said('x'.repeat(10_000)));

    expect(read(pieces, { countText: (text) => text.length / 4 }).outputTokens).toBe(100_000);
  });
});

describe('a whole answer', () => {
  const stream = [said('abc'), event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }), 'data: [DONE]\n\n'];
  const json = JSON.stringify({ choices: [{ index: 0, message: { content: 'abc' }, finish_reason: 'stop' }] });

  it.each<[string, string, string[]]>([
    ['stream', STREAM, stream],
    ['JSON', JSON_TYPE, [json]],
  ])('is told of a %s that was to be learned and is complete', (_, contentType, pieces) => {
    expect(read(pieces, { contentType, learnBytes: 1_000 }).answer?.text).toBe('abc');
    expect(read(pieces, { contentType, learnBytes: 0 }).answer).toBe(undefined);
    expect(read(pieces, { contentType, learnBytes: 1_000 }, false).answer).toBe(undefined);
    expect(read(pieces, { contentType, learnBytes: 10 }).answer).toBe(undefined);
  });
});

describe('usage that an application reports', () => {
  it('is believed where its figures can be', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (inputTokens, outputTokens) => {
        const found = readUsage({ inputTokens, outputTokens, more: 1 });

        for (const figure of [found?.inputTokens, found?.outputTokens])
          expect(figure === undefined || (Number.isSafeInteger(figure) && figure >= 0)).toBe(true);
      }),
    );
    expect(readUsage({ inputTokens: 1.5, outputTokens: -1, cachedInputTokens: '3', model: 'm' })).toEqual({
      inputTokens: 1,
      outputTokens: undefined,
      cachedInputTokens: undefined,
      cacheWriteTokens: undefined,
      reasoningTokens: undefined,
      model: 'm',
    });
  });

  it.each([[undefined], [null], ['x'], [[]], [{}], [{ inputTokens: Number.NaN, outputTokens: '4' }]])(
    'is none when it is %j',
    (given) => {
      expect(readUsage(given)).toBe(undefined);
    },
  );
});
