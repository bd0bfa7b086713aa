import { describe, expect, it } from 'vitest';
import type { Draft, Part, Section } from '../../src/dialects/dialect.js';
import { readChat } from '../../src/dialects/openai-chat-read.js';
import { createAllowance } from '../../src/tokens/allowance.js';
import { estimatePrompt } from '../../src/tokens/estimate.js';
import { createTokenizer, type Tokenizer } from '../../src/tokens/tokenizer.js';

const OVERHEADS = { overheadRatio: 0.1, imageOverheadRatio: 0.15 };

/** A token for each character: the rules then show in round figures. */
const letters: Tokenizer = { count: (text) => text.length, isReady: () => true, ready: async () => {} };

const draftOf = (...sections: Section[]): Draft => ({
  model: 'gpt-4o',
  stream: false,
  wantsUsage: false,
  maximumOutputTokens: undefined,
  choices: 1,
  hasTools: false,
  hasFormat: false,
  sections,
});
const text = (words: string): Part => ({ kind: 'text', text: words });
const message = (role: string, ...parts: Part[]): Section => ({ kind: 'message', role, parts });
const user = message('user', text('x'.repeat(10)));
const call = (name: string, given: string): Part => ({ kind: 'tool-call', name, arguments: given });
const estimate = (model: string, ...sections: Section[]) => estimatePrompt(draftOf(...sections), model, letters, OVERHEADS);
const tokens = (model: string, ...sections: Section[]) => estimate(model, ...sections).inputTokens;

describe('messages', () => {
  it.each(['gpt-4o', 'gpt-4.1-mini', 'gpt-4', 'gpt-3.5-turbo', 'o1-mini', 'another-model'])(
    'of %s take 3, their role 1 and their text, and the beginning of the answer 3',
    (model) => {
      expect(tokens(model)).toBe(3);
      expect(tokens(model, user)).toBe(3 + 4 + 10);
      expect(tokens(model, user, message('assistant', text('abc')), user)).toBe(3 + 14 + 7 + 14);
    },
  );

  it.each(['o3-mini', 'o4-mini', 'gpt-5', 'gpt-5.6-sol', 'gpt-5.2-chat'])(
    'of %s, which reasons, take one less, and 2 more for each answer in the history',
    (model) => {
      expect(tokens(model, user)).toBe(2 + 14);
      expect(tokens(model, user, message('assistant', text('abc')), user)).toBe(2 + 14 + 7 + 2 + 14);
    },
  );

  it('take one more and their name when they have one', () => {
    expect(tokens('gpt-4o', { ...user, name: 'anna' })).toBe(3 + 14 + 1 + 4);
  });

  it('of tools are named by their call, of functions a little less', () => {
    expect(tokens('gpt-4o', { ...message('tool', text('ok')), name: 'weather' })).toBe(3 + 4 + 2);
    expect(tokens('gpt-4o', { ...message('function', text('ok')), name: 'weather' })).toBe(3 + 4 + 2 + 1 + 7 - 2);
  });

  it('take nothing for being in parts', () => {
    expect(tokens('gpt-4o', message('user', text('ab'), text('cde')))).toBe(3 + 4 + 5);
  });

  it('take for calls of tools 7 for a single one and 23 and 3 for each of several, in the gpt-5 family 14 for each and 3 less', () => {
    expect(tokens('gpt-4o', message('assistant', call('sum', '[1,2]')))).toBe(3 + 4 + 7 + 3 + 5);
    expect(tokens('gpt-4o', message('assistant', call('sum', '[1,2]'), call('sum', '[3,4]')))).toBe(3 + 4 + 23 + 6 + 16);
    expect(tokens('gpt-5', message('assistant', call('sum', '[1,2]')))).toBe(2 + 4 + 2 + 11 + 8);
    expect(tokens('gpt-5', message('assistant', call('sum', '[1,2]'), call('sum', '[3,4]')))).toBe(2 + 4 + 2 + 25 + 16);
  });
});

describe('arguments of calls', () => {
  const spaced = '{"a": 1, "b": [2, 3]}';

  it.each([
    ['of an only call are shown without spaces between them', '{"a": 1, "b": [2, 3]}', 17],
    ['that have line breaks lose those too', '{\n  "a": 1\n}', 7],
    ['keep the spaces inside of texts', '{"a":"b, c"}', 12],
    ['that are no JSON stay as they are', 'a: 1, b', 7],
    ['that are very long stay as they are', `["${'x, '.repeat(30_000)}", 1]`, 90_007],
  ])('%s', (_, given, length) => {
    expect(tokens('gpt-4o', message('assistant', call('sum', given)))).toBe(3 + 4 + 7 + 3 + length);
  });

  it('of several calls are counted as they were written', () => {
    expect(tokens('gpt-4o', message('assistant', call('f', spaced), call('f', spaced)))).toBe(
      3 + 4 + 29 + 2 * (1 + spaced.length),
    );
  });
});

describe('definitions', () => {
  const definition = { type: 'function', function: { name: 'f' } };
  const shown = 'namespace functions {\n\ntype f = () => any;\n\n} // namespace functions';
  const tools: Section = { kind: 'tools', parts: [{ kind: 'json', value: [definition] }] };
  const schema = { type: 'object', additionalProperties: false };
  const format: Section = { kind: 'format', parts: [text('out'), { kind: 'json', value: schema }] };

  it('of functions take what they are shown as, and 9 or, where somebody instructs the model, 5', () => {
    expect(tokens('gpt-4o', tools)).toBe(3 + shown.length + 9);
    expect(tokens('gpt-4o', message('system', text('abc')), tools)).toBe(3 + 7 + 1 + shown.length + 5);
    expect(tokens('gpt-4o', message('developer', text('abc')), tools)).toBe(3 + 7 + 1 + shown.length + 5);
  });

  it('of functions end what the system says with a line break', () => {
    const system = message('system', text('ab'), text('cd'));

    expect(tokens('gpt-4o', system, tools) - tokens('gpt-4o', system)).toBe(1 + shown.length + 5);
    expect(tokens('gpt-4o', message('system'), tools) - tokens('gpt-4o', message('system'))).toBe(shown.length + 5);
    expect(tokens('gpt-4o', system, user, tools) - tokens('gpt-4o', system, tools)).toBe(14);
  });

  it('of functions take 91 for the gpt-5 family, or 90 where somebody instructs the model', () => {
    const system = message('system', text('abc'));

    expect(tokens('gpt-5-mini', tools)).toBe(2 + shown.length + 91);
    expect(tokens('gpt-5-mini', system, tools)).toBe(2 + 7 + 1 + shown.length + 90);
  });

  it('of members of members are explained, but not to models that count by cl100k_base', () => {
    const inner = { type: 'object', properties: { a: { type: 'string', description: 'A letter.' } } };
    const nested = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: { o: inner } } } };
    const section: Section = { kind: 'tools', parts: [{ kind: 'json', value: [nested] }] };

    expect(tokens('gpt-4o', section) - tokens('gpt-4', section)).toBe('  // A letter.\n'.length + 1);
  });

  it('take 7 and a name where one must be called, and nothing in the gpt-5 family', () => {
    const must: Section = { ...tools, mustCallName: 'abc' };

    expect(tokens('gpt-4o', must) - tokens('gpt-4o', tools)).toBe(7 + 3);
    expect(tokens('gpt-5', must)).toBe(tokens('gpt-5', tools));
  });

  it('of tools of other kinds take their JSON text, and those of models that nobody knows as well', () => {
    const search = { type: 'local_shell' };
    const both: Section = { kind: 'tools', parts: [{ kind: 'json', value: [definition, search] }] };
    const only: Section = { kind: 'tools', parts: [{ kind: 'json', value: search }] };

    expect(tokens('gpt-4o', both) - tokens('gpt-4o', tools)).toBe(JSON.stringify([search]).length);
    expect(tokens('gpt-4o', only)).toBe(3 + JSON.stringify([search]).length);
    expect(tokens('mistral-large', tools)).toBe(3 + JSON.stringify([definition]).length);
  });

  it('of tools that the provider runs take what those add', () => {
    const hosted = (tool: object): Section => ({ kind: 'tools', parts: [{ kind: 'json', value: tool }] });
    const search = { type: 'web_search_preview' };

    expect(tokens('gpt-4o', hosted(search))).toBe(3 + JSON.stringify([search]).length + 8_000);
    expect(tokens('gpt-5', { kind: 'tools', parts: [...hosted(search).parts, ...tools.parts] })).toBe(
      tokens('gpt-5', tools) + JSON.stringify([search]).length + 8_000,
    );
  });

  it('of tools with free input take 110 each, beside their JSON text', () => {
    const custom = { type: 'custom', name: 'sql' };
    const section: Section = { kind: 'tools', parts: [{ kind: 'json', value: [custom, custom] }] };

    expect(tokens('gpt-5', section)).toBe(2 + JSON.stringify([custom, custom]).length + 220);
  });

  it('of answers take what is shown of their schema, their name, and 14, or 11 where somebody instructs the model', () => {
    const shownFormat = '{"type":"object"}'.length + 3;

    expect(tokens('gpt-4o', format)).toBe(3 + shownFormat + 14);
    expect(tokens('gpt-5', format)).toBe(2 + shownFormat + 14);
    expect(tokens('gpt-4o', message('system', text('abc')), format)).toBe(3 + 7 + shownFormat + 11);
    expect(tokens('gpt-4o', tools, format) - tokens('gpt-4o', tools)).toBe(shownFormat + 8);
  });

  it.each([
    ['functions', { type: 'function', function: { name: 'f', description: 'x' } }],
    ['other things', { a: 1 }],
  ])('take what the rest of a huge list of %s would take, without being written out', (_, item) => {
    const value = Array.from({ length: 300_000 }, () => item);
    const whole = JSON.stringify(value).length;

    const estimated = tokens('gpt-4o', { kind: 'tools', parts: [{ kind: 'json', value }] });

    expect(Math.abs(estimated / whole - 1)).toBeLessThan(0.01);
  });
});

describe('responses', () => {
  const response = (model: string, ...sections: Section[]) =>
    estimatePrompt({ ...draftOf(...sections), rules: 'responses' }, model, letters, OVERHEADS).inputTokens;
  const called: Section = { kind: 'message', parts: [call('sum', '[1,2]')] };

  it('take 8 for each call of a tool, 14 in the gpt-5 family, and 4 for being an item', () => {
    expect(response('gpt-4o', called, called)).toBe(3 + 2 * (4 + 8 + 8));
    expect(response('gpt-5', called, called)).toBe(2 + 2 * (4 + 14 + 8));
  });

  it('take 3 for functions and 7 for the schema of an answer, in the gpt-5 family 9 and 6', () => {
    const shown = 'namespace functions {\n\ntype f = () => any;\n\n} // namespace functions';
    const tools: Section = { kind: 'tools', parts: [{ kind: 'json', value: { name: 'f' } }] };

    expect(response('gpt-4o', tools)).toBe(3 + shown.length + 3);
    expect(response('gpt-5', tools)).toBe(2 + shown.length + 9);
    expect(response('gpt-4o', { kind: 'format', parts: [{ kind: 'json', value: {} }] })).toBe(3 + 2 + 7);
    expect(response('gpt-5', { kind: 'format', parts: [{ kind: 'json', value: {} }] })).toBe(2 + 2 + 6);
  });

  it('take their messages as chats do', () => {
    expect(response('gpt-4o', user)).toBe(tokens('gpt-4o', user));
    expect(response('gpt-5', user, message('assistant', text('abc')))).toBe(
      tokens('gpt-5', user, message('assistant', text('abc'))),
    );
  });
});

describe('prompts', () => {
  const prompt = (...parts: Part[]): Section => ({ kind: 'prompt', parts });

  it.each(['davinci-002', 'text-embedding-3-small', 'gpt-5'])('of %s take their text and nothing else', (model) => {
    expect(tokens(model, prompt(text('abc'), text('de')))).toBe(5);
    expect(tokens(model, prompt(text('abc')), prompt(text('de')))).toBe(5);
  });

  it('of tokens take as many as they are', () => {
    expect(tokens('text-embedding-3-small', prompt({ kind: 'tokens', count: 7 }, { kind: 'tokens', count: 5 }))).toBe(12);
  });

  it('that are empty are not free', () => {
    expect(tokens('davinci-002', prompt())).toBe(1);
    expect(tokens('davinci-002', prompt(text('')))).toBe(1);
  });
});

describe('images and files', () => {
  const image: Part = { kind: 'image', url: 'https://example.com/a.png' };

  it('take what one of 1,024 x 1,024 pixels does, and a default for a page', () => {
    expect(tokens('gpt-4o', message('user', image, { ...image, detail: 'low' }))).toBe(3 + 4 + 765 + 85);
    expect(tokens('gpt-4o', message('user', { kind: 'file', media: 'document', base64Length: 0 }))).toBe(3 + 4 + 1_000);
  });

  it('raise what is held on top: 15 percent where there are images, else 10', () => {
    const withImage = estimate('gpt-4o', message('user', { ...image, detail: 'low' }, text('x'.repeat(8))));
    const without = estimate('gpt-4o', message('user', text('x'.repeat(93))));

    expect([withImage.inputTokens, withImage.heldInputTokens]).toEqual([100, 115]);
    expect([without.inputTokens, without.heldInputTokens]).toEqual([100, 110]);
  });
});

describe('an estimate', () => {
  it('is held as a whole number, rounded up and never by a fault of floating point', () => {
    const held = (length: number, overheadRatio: number) =>
      estimatePrompt(draftOf(message('user', text('x'.repeat(length - 7)))), 'gpt-4o', letters, { ...OVERHEADS, overheadRatio })
        .heldInputTokens;

    expect([7, 8, 10, 11, 70].map((length) => held(length, 0.1))).toEqual([8, 9, 11, 13, 77]);
    // 100 * 0.07 is 7.000000000000001 here.
    expect([held(100, 0.07), held(100, 0)]).toEqual([107, 100]);
  });

  it('tells where it comes from, in order, and the parts add up', () => {
    const { breakdown, inputTokens } = estimate('gpt-4o', message('system', text('abc')), user, {
      kind: 'tools',
      parts: [{ kind: 'json', value: [] }],
    });

    expect(breakdown).toEqual([
      { kind: 'message', role: 'system', tokens: 8 },
      { kind: 'message', role: 'user', tokens: 14 },
      { kind: 'tools', role: undefined, tokens: 2 },
      { kind: 'overhead', tokens: 3 },
    ]);
    expect(inputTokens).toBe(27);
  });

  const confidence = (model: string, section: Section, tokenizer: Tokenizer = letters) =>
    estimatePrompt(draftOf(section), model, tokenizer, OVERHEADS).confidence;

  it.each([
    ['text and calls of tools', 'gpt-4o', message('assistant', text('x'), call('f', '{}')), 'counted'],
    ['a model of another provider', 'claude-sonnet-4-5', user, 'guessed'],
    ['an image', 'gpt-4o', message('user', { kind: 'image', url: '' }), 'guessed'],
    ['a file', 'gpt-4o', message('user', { kind: 'file', media: 'audio', base64Length: 1 }), 'guessed'],
    ['tools', 'gpt-4o', { kind: 'tools', parts: [] }, 'guessed'],
    ['a schema', 'gpt-4o', { kind: 'format', parts: [] }, 'guessed'],
    ['tokens', 'text-embedding-3-small', { kind: 'prompt', parts: [{ kind: 'tokens', count: 5 }] }, 'counted'],
    ['what is hidden', 'gpt-4o', message('user', { kind: 'tokens', count: 0, isGuessed: true }, text('x')), 'guessed'],
    [
      'what is hidden before text',
      'gpt-4o',
      message('user', text('x'), { kind: 'tokens', count: 5, isGuessed: true }),
      'guessed',
    ],
  ] as const)('with %s says how sure it is', (_, model, section, expected) => {
    expect(confidence(model, section)).toBe(expected);
  });

  it('without the vocabulary is a guess', () => {
    expect(confidence('gpt-4o', user, { ...letters, isReady: () => false })).toBe('guessed');
    expect(confidence('gpt-4o', user, createTokenizer())).toBe('guessed');
  });

  it('of a text too long to count whole is a guess', async () => {
    const tokenizer = createTokenizer();
    await tokenizer.ready(['o200k_base']);

    expect(confidence('gpt-4o', message('user', text('word '.repeat(1_000))), tokenizer)).toBe('counted');
    expect(confidence('gpt-4o', message('user', text('qzx漢'.repeat(10_000))), tokenizer)).toBe('guessed');
  });

  it('counts all texts of a body within one allowance', () => {
    const seen = new Set<unknown>();
    const watching: Tokenizer = { ...letters, count: (_, __, allowance) => Number(seen.add(allowance).size > 0) };

    estimatePrompt(draftOf(user, { ...user, name: 'a' }, message('assistant', call('f', '{}'))), 'gpt-4o', watching, OVERHEADS);

    expect(seen.size).toBe(1);
    expect([...seen][0]).toMatchObject({ isExact: true, work: createAllowance().work });
  });

  it('asks for the encoding of the model that it is for, whatever the body names', () => {
    const asked = new Set<string>();
    const watching: Tokenizer = { ...letters, count: (_, encoding) => Number(asked.add(encoding).size > 0) };

    estimatePrompt(draftOf(user), 'gpt-4-turbo', watching, OVERHEADS);

    expect([...asked]).toEqual(['cl100k_base']);
  });
});

describe('settings', () => {
  const estimated = (settings: object, ...sections: Section[]) =>
    estimatePrompt(draftOf(...sections), 'gpt-4o', letters, { ...OVERHEADS, ...settings });

  it('give a factor to all that is counted, each part rounded up', () => {
    expect(estimated({ tokenFactor: 1.1 }, user).breakdown.map(({ tokens: found }) => found)).toEqual([16, 4]);
    expect(estimated({ tokenFactor: 1.1 }, message('user', text('x'.repeat(96))), user).inputTokens).toBe(110 + 16 + 4);
    expect(estimated({ tokenFactor: 0.5 }, user).inputTokens).toBe(7 + 2);
  });

  it('make a guess of what a factor is given to', () => {
    expect(estimated({ tokenFactor: 1.1 }, user).confidence).toBe('guessed');
    expect(estimated({ tokenFactor: 1 }, user).confidence).toBe('counted');
  });

  it('tell sizes of images that bodies only name', () => {
    const imageSize = (address: string, model: string) =>
      address === 'file-1' && model === 'gpt-4o' ? { width: 512, height: 512 } : undefined;
    const image = (url: string) => message('user', { kind: 'image', url });

    expect(estimated({ imageSize }, image('file-1')).inputTokens).toBe(3 + 4 + 255);
    expect(estimated({ imageSize }, image('https://x.test/a.png')).inputTokens).toBe(3 + 4 + 765);
  });
});

describe('hostile bodies', () => {
  const nested = (depth: number): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < depth; level++) value = { properties: [value] };
    return value;
  };

  it.each([
    ['tools nested 10,000 deep', { tools: [nested(10_000)] }],
    ['a schema nested 10,000 deep', { response_format: { type: 'json_schema', json_schema: nested(10_000) } }],
    ['a part nested 10,000 deep', { messages: [{ role: 'user', content: [{ type: 'x', value: nested(10_000) }] }] }],
    ['100,000 empty messages', { messages: Array.from({ length: 100_000 }, () => ({})) }],
    [
      '4,000 messages of 1,000 a',
      { messages: Array.from({ length: 4_000 }, () => ({ role: 'user', content: 'a'.repeat(1_000) })) },
    ],
  ])('with %s are estimated in a moment', async (_, more) => {
    const tokenizer = createTokenizer();
    await tokenizer.ready(['o200k_base']);
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }], ...more };
    const start = process.cpuUsage();

    const draft = readChat(body) as Draft;
    const { inputTokens, heldInputTokens } = estimatePrompt(draft, 'gpt-4o', tokenizer, OVERHEADS);

    const { user: userUs, system: systemUs } = process.cpuUsage(start);
    expect((userUs + systemUs) / 1_000).toBeLessThan(150);
    expect(Number.isSafeInteger(inputTokens) && inputTokens > 3).toBe(true);
    expect(heldInputTokens).toBeGreaterThan(inputTokens);
  });
});

describe('what is too much to be looked at is not free', () => {
  const chat = (content: unknown) => ({ model: 'gpt-4o', messages: [{ role: 'user', content }] });
  const odd = { type: 'x', text: 7 };

  it.each<[string, object]>([
    ['an object of 100,000 names', chat([Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`key${at}`, at]))])],
    ['50,000 parts of a kind that nobody knows', chat(Array(50_000).fill(odd))],
    ['50,000 messages', { model: 'gpt-4o', messages: Array(50_000).fill({ role: 'user', content: 'one two three' }) }],
    ['hundreds of such, each long', chat(Array.from({ length: 300 }, () => ({ type: 'x', list: Array(1_000).fill(12) })))],
  ])('%s', (_, body) => {
    const draft = readChat(body, '/v1/chat/completions');
    expect(draft).toBeDefined();
    if (!draft) return;
    const whole = JSON.stringify(body).length;

    const { inputTokens, confidence } = estimatePrompt(draft, 'gpt-4o', letters, { overheadRatio: 0, imageOverheadRatio: 0 });

    // A token for each letter.
    expect(inputTokens).toBeGreaterThan(0.4 * whole);
    expect(inputTokens).toBeLessThan(1.5 * whole);
    expect(confidence).toBe('guessed');
  });
});
