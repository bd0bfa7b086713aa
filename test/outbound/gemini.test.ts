import { afterEach, describe, expect, it, vi } from 'vitest';
import { cheaperModel, createSpillway, type FetchLike, type Step, staticAnswer } from '../../src/index.js';

const API = 'https://generativelanguage.googleapis.com/v1beta/models';
const VERTEX = 'https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/models';
const body = { contents: [{ role: 'user', parts: [{ text: 'Where does the water go?' }] }] };
const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };

afterEach(() => void vi.unstubAllGlobals());

/** A gate whose larger model takes one call, and what it sent where. */
function crowded(ladder: readonly Step[] = [cheaperModel()]) {
  const gate = createSpillway({
    models: {
      'gemini-2.5-pro': { budgets: [{ requests: 1, per: 'minute' }], cheaper: ['gemini-2.5-flash'] },
      'gemini-2.5-flash': { budgets: [{ tokens: 100_000, per: 'minute' }] },
    },
    ladder,
  });
  const sent: { url: string; body: unknown }[] = [];
  vi.stubGlobal('fetch', async (...given: Parameters<typeof fetch>) => {
    const request = new Request(...given);
    sent.push({ url: request.url, body: await request.json() });
    const usageMetadata = { promptTokenCount: 900, candidatesTokenCount: 90, thoughtsTokenCount: 10 };
    return Response.json({
      candidates: [{ content: { parts: [{ text: 'Down.' }], role: 'model' }, finishReason: 'STOP' }],
      usageMetadata,
    });
  });
  return { gate, sent, governed: gate.fetch };
}

describe('a call of generateContent through the fetch of a gate', () => {
  it.each<[string, (url: string) => Parameters<FetchLike>]>([
    ['an address', (url: string) => [url, init]],
    ['a URL', (url: string) => [new URL(url), init]],
    ['a request', (url: string) => [new Request(url, init)]],
    [
      'a request and more',
      (url: string) => [new Request(url, init), { headers: { 'x-more': '1', 'content-type': 'application/json' } }],
    ],
  ])('goes to the path of the substitute, given as %s', async (_, given) => {
    const { gate, sent, governed } = crowded();
    const url = `${API}/gemini-2.5-pro:generateContent?key=a%20b`;

    await (await governed(...given(url))).json();
    await (await governed(...given(url))).json();

    expect(sent).toEqual([
      { url, body },
      { url: `${API}/gemini-2.5-flash:generateContent?key=a%20b`, body },
    ]);
    await gate.close();
  });

  it('is recognised on Vertex AI', async () => {
    const { gate, sent, governed } = crowded();

    for (let asked = 0; asked < 2; asked++) await (await governed(`${VERTEX}/gemini-2.5-pro:generateContent`, init)).json();

    expect(sent.map(({ url }) => url)).toEqual([
      `${VERTEX}/gemini-2.5-pro:generateContent`,
      `${VERTEX}/gemini-2.5-flash:generateContent`,
    ]);
    await gate.close();
  });

  it('is charged what the answer reports, thoughts with it', async () => {
    const { gate, governed } = crowded();

    await (await governed(`${API}/gemini-2.5-flash:generateContent`, init)).json();

    const { budgets } = await gate.snapshot();
    expect(budgets.find(({ key }) => key === 'gemini-2.5-flash')?.used).toBe(1_000);
    await gate.close();
  });

  it('is refused as Google refuses', async () => {
    const { gate, sent, governed } = crowded([]);
    const url = `${API}/gemini-2.5-pro:generateContent`;

    await (await governed(url, init)).json();
    const refused = await governed(url, init);

    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: { code: 429, status: 'RESOURCE_EXHAUSTED' } });
    expect(sent).toHaveLength(1);
    await gate.close();
  });

  it('of tokens alone passes uncounted', async () => {
    const { gate, sent, governed } = crowded([staticAnswer('Busy.')]);
    const url = `${API}/gemini-2.5-pro:countTokens`;

    for (let asked = 0; asked < 3; asked++) await (await governed(url, init)).json();

    expect(sent.map((one) => one.url)).toEqual([url, url, url]);
    await gate.close();
  });
});
