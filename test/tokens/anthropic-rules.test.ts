import { describe, expect, it } from 'vitest';
import { readMessagesBody } from '../../src/dialects/anthropic-read.js';
import type { Draft, Part, Section } from '../../src/dialects/dialect.js';
import { readChat } from '../../src/dialects/openai-chat-read.js';
import { claudeRules } from '../../src/tokens/anthropic-rules.js';
import { estimatePrompt } from '../../src/tokens/estimate.js';
import { createTokenizer, type Tokenizer } from '../../src/tokens/tokenizer.js';

const OVERHEADS = { overheadRatio: 0.1, imageOverheadRatio: 0.15 };

/** A token for each character: the rules then show in round figures. */
const letters: Tokenizer = { count: (text) => text.length, isReady: () => true, ready: async () => {} };

const HUNDRED = 'x'.repeat(100);
const text = (words: string): Part => ({ kind: 'text', text: words });
const message = (role: string, ...parts: Part[]): Section => ({ kind: 'message', role, parts });
const user = message('user', text(HUNDRED));
const draftOf = (...sections: Section[]): Draft => ({
  model: 'claude-sonnet-4-5',
  stream: false,
  wantsUsage: false,
  maximumOutputTokens: undefined,
  choices: 1,
  hasTools: false,
  hasFormat: false,
  sections,
});
const estimate = (model: string, ...sections: Section[]) => estimatePrompt(draftOf(...sections), model, letters, OVERHEADS);
const tokens = (model: string, ...sections: Section[]) => estimate(model, ...sections).inputTokens;

describe('the generation of a model', () => {
  it.each([
    ['claude-2.1', 110],
    ['claude-v2', 110],
    ['claude-instant-1.2', 110],
    ['claude-3-haiku-20240307', 110],
    ['claude-3-5-sonnet-20241022', 110],
    ['claude-3.7-sonnet', 110],
    ['claude-opus-4-20250514', 115],
    ['claude-sonnet-4-0', 115],
    ['claude-sonnet-4@20250514', 115],
    ['claude-opus-4-1-20250805', 115],
    ['claude-haiku-4-5-20251001', 115],
    ['anthropic/claude-haiku-4.5', 115],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 115],
    ['Claude-Opus-4-6', 115],
    ['claude-opus-4-7', 130],
    ['claude-opus-4-8', 130],
    ['claude-sonnet-5', 130],
    ['claude-opus-5-5-20261101', 130],
    ['claude-latest', 130],
  ])('of %s shows in what 100 tokens of text come to: %i', (model, expected) => {
    expect(tokens(model, user) - tokens(model, message('user'))).toBe(expected);
  });

  it.each(['gpt-4o', 'gemini-2.5-pro', 'not-claude', 'claudette', 'my-claude-proxy', ''])('is none for %j', (model) => {
    expect(claudeRules(model, { sections: [] })).toBeUndefined();
  });
});

describe('messages', () => {
  it('take 7 for the first one and 2 for each further one, on top of their text', () => {
    expect(tokens('claude-sonnet-4-5', message('user'))).toBe(7);
    expect(tokens('claude-sonnet-4-5', user, message('assistant', text('')), user)).toBe(7 + 2 + 2 + 115 + 115);
  });

  it.each([
    ['claude-sonnet-4-0', 29],
    ['claude-opus-4-6', 29],
    ['claude-sonnet-5', 0],
  ])('take for %s %i more when it is to think', (model, more) => {
    const thinking = estimatePrompt({ ...draftOf(user), thinks: true }, model, letters, OVERHEADS);

    expect(thinking.inputTokens - tokens(model, user)).toBe(more);
  });

  it('take 2 as well when the system is told in between', () => {
    const system = () => message('system', text(HUNDRED));

    expect(tokens('claude-sonnet-4-5', system(), user, system())).toBe(5 + 115 + 117 + 117);
  });

  it.each([
    ['Привет, как дела?', 1.3, 1.15],
    ['今天天气很好', 1.3, 1.15],
    ['Ça va très bien — merci!', 1.3, 1.3],
  ])('in the script of %j take other factors since 4.7, where it is not Latin', (said, latin, factor) => {
    const words = said.repeat(100);
    const letters = words.length;

    const found = tokens('claude-sonnet-5', message('user', text(words))) - 7;

    // Spaces and punctuation belong to all scripts.
    expect(found).toBeGreaterThanOrEqual(Math.round(factor * letters));
    expect(found).toBeLessThanOrEqual(Math.round((factor + 0.3 * (latin - factor)) * letters));
    expect(tokens('claude-haiku-4-5', message('user', text(words))) - 7).toBe(Math.round(1.15 * letters));
  });

  it('take nothing but their text when the system is told', () => {
    expect(tokens('claude-sonnet-4-5', message('system', text(HUNDRED)), user)).toBe(7 + 115 + 115);
  });

  it('take 55 for a call of a tool with its result, on top of their text', () => {
    const calling = message(
      'assistant',
      { kind: 'tool-call', name: 'x'.repeat(10), arguments: '' },
      { kind: 'json', value: { city: 'Oslo' } },
    );
    const result = message('user', text('x'.repeat(13)));

    expect(
      tokens('claude-sonnet-4-5', calling, result) - tokens('claude-sonnet-4-5', message('assistant'), message('user')),
    ).toBe(55 + Math.round(1.15 * (10 + '{"city":"Oslo"}'.length)) + Math.round(1.15 * 13));
  });

  it('take as many tokens as they are, where those are given', () => {
    expect(tokens('claude-sonnet-4-5', message('user', { kind: 'tokens', count: 50 }))).toBe(7 + 50);
  });
});

describe('definitions', () => {
  const value = { name: 'f', input_schema: {} };
  const tools = (mustCall: boolean, ...parts: Part[]): Section => ({ kind: 'tools', parts, mustCall });
  const json = (given: unknown): Part => ({ kind: 'json', value: given });
  const length = JSON.stringify(value).length;
  const ofTools = (model: string, section: Section) => tokens(model, section) - tokens(model);

  it.each([
    ['claude-3-haiku-20240307', 275, 365, 1.1],
    ['claude-3-5-haiku-20241022', 275, 365, 1.1],
    ['claude-3-opus-20240229', 530, 300, 1.1],
    ['claude-sonnet-4-0', 315, 335, 1.15],
    ['claude-opus-4-1', 315, 335, 1.15],
    ['claude-sonnet-4-5', 495, 595, 1.15],
    ['claude-sonnet-5', 370, 520, 1.3],
  ])(
    'of tools come for %s with %i tokens, or %i when one must be called, and 14 for each',
    (model, mayCall, mustCall, factor) => {
      expect(ofTools(model, tools(false, json(value)))).toBe(Math.round(mayCall + 14 + factor * length));
      expect(ofTools(model, tools(true, json(value), json(value)))).toBe(Math.round(mustCall + 28 + factor * 2 * length));
    },
  );

  it('of tools that the provider runs take what those add', () => {
    const bash = { type: 'bash_20250124', name: 'bash' };

    expect(ofTools('claude-sonnet-4-5', tools(false, json(bash)))).toBe(
      Math.round(495 + 14 + 245 + 1.15 * JSON.stringify(bash).length),
    );
  });

  it('of tools that come as one list are counted one by one', () => {
    const list = [value, value, value];

    expect(ofTools('claude-sonnet-4-5', { kind: 'tools', parts: [json(list)] })).toBe(
      Math.round(495 + 3 * 14 + 1.15 * JSON.stringify(list).length),
    );
  });

  it('of a schema for the answer take 90, and their text twice', () => {
    expect(ofTools('claude-sonnet-4-5', { kind: 'format', parts: [json(value)] })).toBe(90 + Math.round(2 * 1.15 * length));
  });
});

describe('images', () => {
  const png = (width: number, height: number): Part => {
    const bytes = Buffer.alloc(24);
    bytes.write('\x89PNG\r\n\x1a\n', 'latin1');
    bytes.writeUInt32BE(width, 16);
    bytes.writeUInt32BE(height, 20);
    return { kind: 'image', url: `data:image/png;base64,${bytes.toString('base64')}` };
  };
  const imageTokens = (model: string, image: Part) => tokens(model, message('user', image)) - 7;

  it.each([
    [1, 1, 5, 4],
    [28, 28, 5, 4],
    [29, 28, 6, 5],
    [100, 100, 20, 19],
    [540, 360, 264, 263],
    [800, 600, 642, 641],
    [1_001, 1_001, 1_300, 1_299],
    [1_920, 1_080, 53 * 30 - 22 + 4, 2_694],
    [3_000, 100, 56 * 2 + 4, 92 * 4 + 3],
    [4_032, 3_024, 1_572, 4_787],
    [60_000, 1, 56 + 4, 92 + 3],
  ])('of %i x %i pixels take %i tokens, for newer models %i', (width, height, older, newer) => {
    expect(imageTokens('claude-haiku-4-5', png(width, height))).toBe(older);
    expect(imageTokens('claude-sonnet-5', png(width, height))).toBe(newer);
  });

  it('take what one of 1,024 x 1,024 pixels does where their size is not known', () => {
    const remote: Part = { kind: 'image', url: 'https://x.test/a.png' };

    expect(imageTokens('claude-haiku-4-5', remote)).toBe(37 * 37 + 4);
    expect(imageTokens('claude-sonnet-5', { kind: 'image', url: '' })).toBe(37 * 37 + 3);
  });

  it('raise what is held by 15 percent', () => {
    const { inputTokens, heldInputTokens } = estimate('claude-haiku-4-5', message('user', png(280, 252), text('')));

    expect([inputTokens, heldInputTokens]).toEqual([101, 117]);
  });
});

describe('documents', () => {
  it('take 2,500 for a page, of which one is elsewhere', () => {
    const file = (base64Length: number): Part => ({ kind: 'file', media: 'document', base64Length });

    expect(tokens('claude-sonnet-4-5', message('user', file(0)))).toBe(7 + 2_500);
    expect(tokens('claude-sonnet-4-5', message('user', file(200_000)))).toBe(7 + 7_500);
  });
});

describe('an estimate for Claude', () => {
  it('is a guess, counted in cl100k_base', () => {
    const asked = new Set<string>();
    const watching: Tokenizer = { ...letters, count: (_, encoding) => Number(asked.add(encoding).size > 0) };

    const { confidence } = estimatePrompt(draftOf(user), 'claude-sonnet-4-5', watching, OVERHEADS);

    expect(confidence).toBe('guessed');
    expect([...asked]).toEqual(['cl100k_base']);
  });

  it('tells where it comes from, in whole numbers that add up', () => {
    const { breakdown, inputTokens } = estimate('claude-sonnet-4-5', message('system', text('abc')), user, {
      kind: 'tools',
      parts: [{ kind: 'json', value: { name: 'f' } }],
    });

    expect(breakdown).toEqual([
      { kind: 'message', role: 'system', tokens: 3 },
      { kind: 'message', role: 'user', tokens: 117 },
      { kind: 'tools', role: undefined, tokens: 495 + 14 + 14 },
      { kind: 'overhead', tokens: 5 },
    ]);
    expect(inputTokens).toBe(648);
  });

  it('is about the same for a call through an endpoint of another wire format', () => {
    const tool = {
      name: 'weather',
      description: 'Tells it.',
      schema: { type: 'object', properties: { city: { type: 'string' } } },
    };
    const asked = { model: 'claude-sonnet-4-5', messages: [{ role: 'user', content: 'How is the weather in Oslo?' }] };
    const messages = readMessagesBody({
      ...asked,
      system: 'Be brief.',
      tools: [{ name: tool.name, description: tool.description, input_schema: tool.schema }],
    }) as Draft;
    const chat = readChat({
      ...asked,
      messages: [{ role: 'system', content: 'Be brief.' }, ...asked.messages],
      tools: [{ type: 'function', function: { name: tool.name, description: tool.description, parameters: tool.schema } }],
    }) as Draft;

    const [one, other] = [messages, chat].map(
      (draft) => estimatePrompt(draft, 'claude-sonnet-4-5', letters, OVERHEADS).inputTokens,
    );

    expect(Math.abs((other as number) - (one as number))).toBeLessThan(50);
    expect(one).toBeGreaterThan(500);
  });

  it.each([
    ['tools nested 10,000 deep', { tools: [nested(10_000)] }],
    ['an input nested 10,000 deep', saying([{ type: 'tool_use', name: 'f', input: nested(10_000) }])],
    ['100,000 empty messages', { messages: Array.from({ length: 100_000 }, () => ({})) }],
    [
      '4,000 results of 1,000 a',
      saying(Array.from({ length: 4_000 }, () => ({ type: 'tool_result', content: 'a'.repeat(1_000) }))),
    ],
    ['100,000 tools', { tools: Array.from({ length: 100_000 }, () => ({ name: 'f', input_schema: {} })) }],
    ['500 images that are none', saying(Array.from({ length: 500 }, () => image('/9j/'.repeat(20_000))))],
  ])('of a body with %s is there in a moment', async (_, more) => {
    const tokenizer = createTokenizer();
    await tokenizer.ready(['cl100k_base']);
    const body = { model: 'claude-sonnet-4-5', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }], ...more };
    const start = process.cpuUsage();

    const draft = readMessagesBody(body, '/v1/messages') as Draft;
    const { inputTokens, heldInputTokens } = estimatePrompt(draft, 'claude-sonnet-4-5', tokenizer, OVERHEADS);

    const { user: userUs, system: systemUs } = process.cpuUsage(start);
    expect((userUs + systemUs) / 1_000).toBeLessThan(250);
    expect(Number.isSafeInteger(inputTokens) && inputTokens > 7).toBe(true);
    expect(heldInputTokens).toBeGreaterThan(inputTokens);
  });
});

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = { properties: [value] };
  return value;
}

function saying(content: unknown[]) {
  return { messages: [{ role: 'user', content }] };
}

function image(data: string) {
  return { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data } };
}
