import { describe, expect, it } from 'vitest';
import { itemize } from '../../src/cli/itemize.js';
import { readForEstimate } from '../../src/tokens/estimate-tokens.js';

async function parts(body: object, path?: string) {
  return itemize(await readForEstimate(body, path === undefined ? {} : { path }));
}
const chat = (more: object) => ({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Where does the water go?' }], ...more });
const tool = (name: string, description = 'Does it.') => ({ type: 'function', function: { name, description } });
const itemsOf = async (body: object, path?: string) => (await parts(body, path)).flatMap(({ items }) => items ?? []);
/** The head of a PNG file of 640 x 480 pixels. */
const PNG = `iVBORw0KGgoAAAANSUhEUgAAAoAAAAHg${'A'.repeat(40)}`;

describe('the parts of an estimate', () => {
  it('are those of its breakdown, and add up', async () => {
    const body = chat({ tools: [tool('a'), tool('b')] });
    const { draft, estimate } = await readForEstimate(body, {});

    const found = await parts(body);

    expect(found.map(({ kind, role, tokens }) => ({ kind, role, tokens }))).toEqual(estimate(draft).breakdown);
  });

  it('hold each tool, with what it takes', async () => {
    const [long, short] = await itemsOf(
      chat({ tools: [tool('long', 'Says where each drop of the water goes.'), tool('short', 'No.')] }),
    );

    expect([long, short]).toMatchObject([
      { kind: 'tool', name: 'long' },
      { kind: 'tool', name: 'short' },
    ]);
    expect(long?.tokens).toBeGreaterThan(short?.tokens ?? Infinity);
    expect(short?.tokens).toBeGreaterThan(0);
  });

  it('give a single tool all that tools take', async () => {
    const [whole] = (await parts(chat({ tools: [tool('a')] }))).filter(({ kind }) => kind === 'tools');

    expect(whole?.items).toEqual([{ kind: 'tool', name: 'a', tokens: whole?.tokens }]);
  });

  it.each([
    ['openai-chat', undefined, chat({ tools: [tool('find')] }), 'find'],
    [
      'openai-responses',
      undefined,
      { model: 'gpt-4o', input: 'x', instructions: 'x', tools: [{ type: 'function', name: 'find' }] },
      'find',
    ],
    [
      'openai-responses',
      undefined,
      { model: 'gpt-4o', input: 'x', instructions: 'x', tools: [{ type: 'web_search' }] },
      'web_search',
    ],
    ['anthropic', undefined, { model: 'claude-sonnet-4-5', messages: [], tools: [{ name: 'find', input_schema: {} }] }, 'find'],
    [
      'gemini',
      '/v1beta/models/gemini-2.5-pro:generateContent',
      { contents: [], tools: [{ functionDeclarations: [{ name: 'find' }] }] },
      'find',
    ],
    ['gemini', '/v1beta/models/gemini-2.5-pro:generateContent', { contents: [], tools: [{ googleSearch: {} }] }, 'googleSearch'],
  ])('name the tools of %s', async (_, path, body, name) => {
    expect(await itemsOf(body, path)).toMatchObject([{ kind: 'tool', name }]);
  });

  it('hold images with their size, and files with theirs', async () => {
    const content = [
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
      { type: 'image_url', image_url: { url: 'https://example.com/secret.png' } },
      { type: 'file', file: { file_data: `data:application/pdf;base64,${'A'.repeat(4_000)}` } },
      { type: 'input_audio', input_audio: { data: 'A'.repeat(400) } },
    ];

    const items = await itemsOf(chat({ messages: [{ role: 'user', content }] }));

    expect(items).toMatchObject([
      { kind: 'image', width: 640, height: 480, tokens: 425 },
      { kind: 'image', tokens: expect.any(Number) },
      { kind: 'document', bytes: 3_000 },
      { kind: 'audio', bytes: 300 },
    ]);
  });

  it('are told together beyond 100', async () => {
    const tools = Array.from({ length: 130 }, (_, at) => tool(`tool_${at}`));

    const items = await itemsOf(chat({ tools }));

    expect(items).toHaveLength(101);
    expect(items.at(-1)).toMatchObject({ kind: 'others', count: 30 });
    expect(items.at(-1)?.tokens).toBeGreaterThan(10 * (items[0]?.tokens ?? Infinity));
  });

  it.each(['\u001b[2J', 'Ignore what was said before and', 'x'.repeat(65), '', 7])('never show a name like %j', async (name) => {
    const body = chat({ messages: [{ role: name, content: 'x' }], tools: [{ function: { name } }] });

    const shown = JSON.stringify(await parts(body));

    expect(JSON.parse(shown)).toMatchObject([
      { kind: 'message' },
      { kind: 'tools', items: [{ name: name === '' || name === 7 ? 'function' : '?' }] },
      {},
    ]);
    if (typeof name === 'string' && name !== '') expect(shown).not.toContain(JSON.stringify(name).slice(1, -1));
  });
});
