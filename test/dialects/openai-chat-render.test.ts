import { describe, expect, it } from 'vitest';
import type { Answer, Call } from '../../src/call.js';
import { readChat } from '../../src/dialects/openai-chat-read.js';
import { renderAnswer } from '../../src/dialects/openai-chat-render.js';

const callFor = (fields: object): Call => {
  const draft = readChat({ model: 'gpt-4o', messages: [], ...fields });
  return { draft, stream: draft?.stream } as Call;
};
const STATIC: Answer = { kind: 'static', model: 'spillway-static', text: 'We are busy.' };
const chunksOf = (answer: Answer, fields: object) =>
  renderAnswer(answer, callFor({ stream: true, ...fields }))
    .body.split('\n\n')
    .filter((part) => part.startsWith('data: {'))
    .map((part) => JSON.parse(part.slice('data: '.length)));

describe('a prepared answer', () => {
  it('is a completion of its own that says what it is', () => {
    const { status, headers, body } = renderAnswer(STATIC, callFor({}));

    expect([status, headers]).toEqual([200, { 'content-type': 'application/json; charset=utf-8' }]);
    expect(JSON.parse(body)).toEqual({
      id: expect.stringMatching(/^chatcmpl-spillway-static-[\w-]{36}$/),
      object: 'chat.completion',
      created: 0,
      model: 'spillway-static',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'We are busy.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
      spillway: { outcome: 'static' },
    });
  });

  it('has as many choices as were asked for, in both modes', () => {
    const json = JSON.parse(renderAnswer(STATIC, callFor({ n: 3 })).body);
    const ended = chunksOf(STATIC, { n: 3 }).flatMap(({ choices }) =>
      choices.filter((choice: { finish_reason: unknown }) => choice.finish_reason),
    );

    expect(json.choices.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2]);
    expect(ended.map(({ index }) => index)).toEqual([0, 1, 2]);
  });

  it('is accepted, not finished, when the work was deferred', () => {
    expect(renderAnswer({ ...STATIC, kind: 'deferred' }, callFor({})).status).toBe(202);
    expect(renderAnswer({ ...STATIC, kind: 'deferred' }, callFor({ stream: true })).status).toBe(202);
  });

  it('has an identifier of its own each time', () => {
    const ids = [1, 2].map(() => JSON.parse(renderAnswer(STATIC, callFor({})).body).id);

    expect(ids[0]).not.toBe(ids[1]);
  });
});

describe('a stream', () => {
  it('is the whole sequence of events that a model would have sent', () => {
    const { headers, body } = renderAnswer(STATIC, callFor({ stream: true, stream_options: { include_usage: true } }));
    const parts = body.split('\n\n');
    const chunks = chunksOf(STATIC, { stream_options: { include_usage: true } });

    expect(headers).toEqual({ 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform' });
    expect(parts.slice(-2)).toEqual(['data: [DONE]', '']);
    expect(chunks.map(({ choices, usage }) => [choices[0]?.delta, choices[0]?.finish_reason, usage])).toEqual([
      [{ role: 'assistant', content: '' }, null, null],
      [{ content: 'We are busy.' }, null, null],
      [{}, 'stop', null],
      [undefined, undefined, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
    ]);
    expect(new Set(chunks.map(({ id, object, model }) => `${id} ${object} ${model}`)).size).toBe(1);
    expect(chunks[0].spillway).toEqual({ outcome: 'static' });
  });

  it('says nothing of usage when the caller did not ask', () => {
    const chunks = chunksOf(STATIC, {});

    expect(chunks.filter((chunk) => 'usage' in chunk)).toEqual([]);
    expect(chunks.at(-1).choices[0].finish_reason).toBe('stop');
  });

  it('cuts long text into pieces, and no surrogate pair', () => {
    const text = `x${'😀'.repeat(1_000)}`;
    const pieces = chunksOf({ ...STATIC, text }, {}).flatMap(({ choices }) => choices[0].delta.content ?? []);

    expect(pieces.join('')).toBe(text);
    expect(pieces.length).toBeGreaterThan(5);
    expect(pieces.filter((piece) => !piece.isWellFormed())).toEqual([]);
  });
});

describe('a kept answer', () => {
  const body = {
    id: 'chatcmpl-7',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'gpt-4o-2024-08-06',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: `{"x":"${'y'.repeat(500)}"}` } }],
        },
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 7, completion_tokens: 8, total_tokens: 15 },
    unknown_field: [1],
  };
  const kept: Answer = { kind: 'stale', model: 'gpt-4o', text: '', body };

  it('is given back as it was, apart from the mark', () => {
    expect(JSON.parse(renderAnswer(kept, callFor({})).body)).toEqual({ ...body, spillway: { outcome: 'stale' } });
  });

  it('tells the name of a tool before its arguments, under the identifier and the time of the answer', () => {
    const chunks = chunksOf(kept, { stream_options: { include_usage: true } });
    const calls = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);

    expect(calls[0]).toEqual({ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } });
    expect(calls.length).toBeGreaterThan(2);
    expect(calls.map((call) => call.function.arguments).join('')).toBe(
      body.choices[0]?.message.tool_calls[0]?.function.arguments,
    );
    expect(chunks[0]).toMatchObject({ id: 'chatcmpl-7', created: 1_700_000_000, model: 'gpt-4o-2024-08-06' });
    expect(chunks.at(-1).usage).toEqual(body.usage);
    expect(chunks.at(-2).choices[0].finish_reason).toBe('tool_calls');
  });
});
