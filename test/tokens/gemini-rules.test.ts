import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { readGenerateContent } from '../../src/dialects/gemini-read.js';
import type { PromptEstimate } from '../../src/tokens/estimate.js';
import { estimatePrompt } from '../../src/tokens/estimate.js';
import { geminiRules } from '../../src/tokens/gemini-rules.js';
import { createTokenizer } from '../../src/tokens/tokenizer.js';

const tokenizer = createTokenizer();
beforeAll(() => tokenizer.ready(['o200k_base']));

const GEMINI_API = '/v1beta';
const VERTEX = '/v1/projects/p/locations/l/publishers/google';

function estimate(body: object, model = 'gemini-2.5-flash', api = GEMINI_API): PromptEstimate {
  const draft = readGenerateContent(body, `${api}/models/${model}:generateContent`);
  if (!draft) throw new Error('unread');
  return estimatePrompt(draft, model, tokenizer, { overheadRatio: 0.1, imageOverheadRatio: 0.15 });
}
const says = (...texts: string[]) => ({ contents: texts.map((text) => ({ role: 'user', parts: [{ text }] })) });
const tokensOf = (body: object, model?: string, api?: string) => estimate(body, model, api).inputTokens;
const withTools = (...functions: object[]) => ({ ...says('Hi'), tools: [{ functionDeclarations: functions }] });
const toolTokens = (functions: object[], model?: string, api?: string) =>
  estimate(withTools(...functions), model, api).breakdown.find(({ kind }) => kind === 'tools')?.tokens;

describe('the rules', () => {
  it.each(['gemini-2.5-pro', 'models/gemini-3-pro-preview', 'google/gemini-2.0-flash', 'gemma-3-27b-it'])(
    'are for %s',
    (model) => {
      expect(geminiRules(model, {})).toBeDefined();
    },
  );

  it.each(['gpt-4o', 'claude-sonnet-4-5', 'my-gemini', 'geminid', ''])('are not for %j', (model) => {
    expect(geminiRules(model, {})).toBeUndefined();
  });

  it.each(['gemini', 'vertex'] as const)('are for every model in the format of %s', (rules) => {
    expect(geminiRules('my-model', { rules })).toBeDefined();
  });
});

// Sentences of our own; counts follow the usage that alike ones were reported with.
describe('text', () => {
  it.each([
    ['a sentence, and what surrounds it', says('Where does the water go?'), 7],
    ['each digit', says('12345'), 6],
    ['a contraction', says("It's late."), 6],
    [
      'what the system is told',
      { systemInstruction: { parts: [{ text: 'Be brief.' }] }, ...says('Where does the water go?') },
      11,
    ],
    ['nothing that the system is told', { systemInstruction: { parts: [{ text: '' }] }, ...says('Where does the water go?') }, 7],
    ['each message', says('Where does the water go?', 'Where does the water go?'), 14],
    ['an empty prompt', { contents: [] }, 1],
  ])('counts %s', (_, body, tokens) => {
    expect(tokensOf(body)).toBe(tokens);
  });

  it('has nothing around it on Vertex AI, and with models before 2.5', () => {
    expect(tokensOf(says('Where does the water go?'), 'gemini-2.5-flash', VERTEX)).toBe(6);
    expect(tokensOf(says('Where does the water go?'), 'gemini-2.0-flash')).toBe(6);
  });

  it('is guessed, for the vocabulary is not published', () => {
    expect(estimate(says('Hi')).confidence).toBe('guessed');
  });
});

describe('tools', () => {
  const bare = { name: 'roll' };
  const described = { name: 'roll', description: 'Rolls a die.' };
  const object = (properties: object) => ({ type: 'OBJECT', properties });

  it('count by function, description and property', () => {
    expect(toolTokens([bare])).toBe(16);
    expect(toolTokens([bare, bare])).toBe(32);
    expect(toolTokens([described])).toBeGreaterThan(20);
    expect(toolTokens([{ ...bare, parameters: object({ a: { type: 'INTEGER' } }) }])).toBe(16 + 10 + 1);
  });

  it('take less on Vertex AI, and with models before 2.5', () => {
    expect(toolTokens([bare], 'gemini-2.5-flash', VERTEX)).toBe(4);
    expect(toolTokens([bare], 'gemini-2.0-flash')).toBe(4);
  });

  it.each(['parameters', 'parametersJsonSchema', 'parameters_json_schema'])('are read from %s', (name) => {
    expect(toolTokens([{ ...bare, [name]: object({ a: { type: 'string' } }) }])).toBe(27);
  });

  it('show what is referred to in its place', () => {
    const point = { type: 'object', properties: { x: { type: 'number' } } };
    const inlined = { ...bare, parameters: { type: 'object', properties: { a: point, b: point } } };
    const $ref = '#/$defs/point';
    const referred = { ...bare, parameters: { $defs: { point }, type: 'object', properties: { a: { $ref }, b: { $ref } } } };

    expect(toolTokens([referred])).toBe(toolTokens([inlined]));
  });

  it('that refer to themselves come to an end', () => {
    const node = { type: 'object', properties: { a: { $ref: '#/$defs/node' }, b: { $ref: '#/$defs/node' } } };
    const parameters = { $defs: { node }, $ref: '#/$defs/node' };

    const tokens = toolTokens([{ ...bare, parameters }]);

    expect(tokens).toBeGreaterThan(100);
    expect(tokens).toBeLessThan(2_000);
  });

  it('count enumerations, lists, choices and further properties', () => {
    const one = (schema: object) => toolTokens([{ ...bare, parameters: object({ a: schema }) }]) ?? 0;
    const plain = one({ type: 'STRING' });

    expect(one({ type: 'STRING', enum: ['x', 'y'] })).toBe(plain + 2 * (3 + 1));
    expect(one({ type: 'ARRAY', items: { description: 'Late.' } })).toBe(plain + 2);
    expect(one({ anyOf: [{ type: 'string' }, { type: 'null' }] })).toBe(plain + 10);
    expect(one({ additionalProperties: { properties: { b: {} } } })).toBe(plain + 38 + 10 + 1);
  });

  it('of the provider count as their JSON text', () => {
    const search = { ...says('Hi'), tools: [{ googleSearch: {} }] };

    expect(estimate(search).breakdown.find(({ kind }) => kind === 'tools')?.tokens).toBeGreaterThan(1);
  });

  it('wrapped as other APIs do count the same', () => {
    const rules = geminiRules('gemini-2.5-pro', {});
    const measure = { count: (text: string) => text.length } as never;
    const section = (value: unknown) => ({ kind: 'tools', parts: [{ kind: 'json', value }] }) as const;

    expect(rules?.sectionTokens(section([{ type: 'function', function: described }]), measure)).toBe(
      rules?.sectionTokens(section(described), measure),
    );
  });

  it('called in the history take more than what they were called with', () => {
    const call = { functionCall: { name: 'roll', args: { sides: 6 } } };
    const result = { functionResponse: { name: 'roll', response: { result: 4 } } };
    const history = {
      contents: [
        { role: 'user', parts: ['Hi'] },
        { role: 'model', parts: [call] },
        { role: 'user', parts: [result] },
      ],
    };

    expect(tokensOf(history)).toBeGreaterThan(tokensOf(history, 'gemini-2.0-flash') + 20);
  });
});

describe('a schema of the answer', () => {
  const asked = {
    ...says('Hi'),
    generationConfig: { responseSchema: { type: 'OBJECT', properties: { city: { type: 'STRING' } } } },
  };

  it('is free, but on Vertex AI and with models before 2.5', () => {
    expect(tokensOf(asked)).toBe(tokensOf(says('Hi')));
    expect(tokensOf(asked, 'gemini-2.5-flash', VERTEX)).toBeGreaterThan(tokensOf(says('Hi'), 'gemini-2.5-flash', VERTEX));
    expect(tokensOf(asked, 'gemini-2.0-flash')).toBeGreaterThan(tokensOf(says('Hi'), 'gemini-2.0-flash'));
  });
});

/** The head of a PNG file. */
function png(width: number, height: number): string {
  const bytes = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\0\0', 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes.toString('base64');
}

describe('images', () => {
  const shows = (width: number, height: number, more: object = {}) => ({
    contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: png(width, height) }, ...more }] }],
  });

  it.each([
    ['gemini-2.5-flash', 100, 100, 258],
    ['gemini-2.5-flash', 640, 480, 258],
    ['gemini-2.5-flash', 1_000, 700, 516],
    ['gemini-2.5-flash', 6_144, 6_144, 16 * 258],
    ['gemini-2.0-flash', 384, 384, 258],
    ['gemini-2.0-flash', 640, 480, 1_290],
    ['gemini-3-pro-preview', 64, 64, 1_095],
    ['gemini-3-pro-preview', 4_032, 3_024, 1_095],
  ])('of %s, %i x %i pixels, take %i', (model, width, height, tokens) => {
    const around = tokensOf({ contents: [{ parts: [] }] }, model) - (model.includes('2.0') ? 1 : 0);

    expect(tokensOf(shows(width, height), model) - around).toBe(tokens);
  });

  it('take what the resolution says that is asked for', () => {
    const low = { mediaResolution: { level: 'MEDIA_RESOLUTION_LOW' } };

    expect(tokensOf(shows(640, 480, low), 'gemini-3-pro-preview')).toBe(281);
    expect(tokensOf({ ...shows(640, 480), generationConfig: { mediaResolution: 'MEDIA_RESOLUTION_LOW' } })).toBe(65);
    expect(tokensOf(shows(640, 480, { mediaResolution: { level: 'MEDIA_RESOLUTION___PROTO__' } }))).toBe(259);
  });

  it('have the overhead of images', () => {
    expect(estimate(shows(100, 100)).heldInputTokens).toBe(259 + 39);
  });
});

describe('files', () => {
  const holds = (mimeType: string, data: string, more: object = {}) => ({
    contents: [{ parts: [{ inlineData: { mimeType, data }, ...more }] }],
  });
  const elsewhere = (mimeType: string, more: object = {}) => ({
    contents: [{ parts: [{ fileData: { mimeType, fileUri: 'gs://a/b' }, ...more }] }],
  });
  const pdf = (text: string) => Buffer.from(`%PDF-1.4\n${text}`).toString('base64');
  const stretch = { videoMetadata: { startOffset: '10s', endOffset: '20s' } };

  it.each([
    ['a page', 'gemini-2.5-flash', holds('application/pdf', pdf('<< /Type /Page >>')), 258],
    ['pages', 'gemini-2.5-flash', holds('application/pdf', pdf('<< /Type /Pages /Count 3 >>')), 774],
    ['a page for the third generation', 'gemini-3-pro-preview', holds('application/pdf', pdf('<< /Type /Page >>')), 540],
    ['pages of 50 kB where they cannot be counted', 'gemini-2.5-flash', holds('application/pdf', 'A'.repeat(200_000)), 774],
    ['a document elsewhere', 'gemini-2.5-flash', elsewhere('application/pdf'), 258],
    ['sound of 16 kB a second', 'gemini-2.5-flash', holds('audio/mp3', 'A'.repeat(64_000)), 96],
    ['sound for older models', 'gemini-2.0-flash', holds('audio/mp3', 'A'.repeat(64_000)), 75],
    ['sound elsewhere', 'gemini-2.5-flash', elsewhere('audio/mp3'), 320],
    ['a stretch of a film', 'gemini-2.5-flash', elsewhere('video/mp4', stretch), 2_900],
    ['a stretch of a film for the third generation', 'gemini-3-pro-preview', elsewhere('video/mp4', stretch), 1_020],
    ['a film elsewhere', 'gemini-2.5-flash', elsewhere('video/mp4'), 17_400],
    ['text of 4 bytes a token', 'gemini-2.5-flash', holds('text/plain', 'A'.repeat(400)), 75],
  ])('count %s', (_, model, body, tokens) => {
    expect(estimate(body, model).breakdown[0]?.tokens).toBe(tokens + (model.includes('2.0') ? 0 : 1));
  });

  it('never take more than the largest prompt', () => {
    expect(tokensOf(elsewhere('video/mp4', { videoMetadata: { endOffset: '900000s' } }))).toBe(2_000_001);
  });
});

it('gives sound figures for any JSON in the place of contents and tools', () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 5 }),
      fc.jsonValue({ maxDepth: 5 }),
      fc.constantFrom(GEMINI_API, VERTEX),
      (given, tools, api) => {
        const body = {
          contents: [{ parts: given }],
          tools: [{ functionDeclarations: tools }],
          generationConfig: { responseSchema: given },
        };

        const { inputTokens, breakdown } = estimate(body, 'gemini-2.5-flash', api);

        expect(Number.isSafeInteger(inputTokens) && inputTokens >= 1).toBe(true);
        for (const { tokens } of breakdown) expect(Number.isSafeInteger(tokens) && tokens >= 0).toBe(true);
      },
    ),
  );
});
