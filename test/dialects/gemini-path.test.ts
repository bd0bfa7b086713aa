import { describe, expect, it } from 'vitest';
import { geminiTarget, pathForModel, plainModel } from '../../src/dialects/gemini-path.js';

const VERTEX = '/v1/projects/p/locations/us-central1/publishers/google/models';

describe('what a path asks for', () => {
  it.each([
    ['/v1beta/models/gemini-2.5-pro:generateContent', 'gemini-2.5-pro', 'generateContent', false],
    ['/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse', 'gemini-2.5-pro', 'streamGenerateContent', false],
    ['/v1beta/models/gemini-2.5-pro:countTokens/', 'gemini-2.5-pro', 'countTokens', false],
    [`${VERTEX}/gemini-2.5-pro:generateContent`, 'gemini-2.5-pro', 'generateContent', true],
    ['/v1/projects/p/locations/l/endpoints/123:generateContent', '123', 'generateContent', true],
    ['/v1beta/tunedModels/mine:generateContent', 'mine', 'generateContent', false],
    ['/models/gemma3:4b:generateContent', 'gemma3:4b', 'generateContent', false],
    ['/models/a%20b:generateContent', 'a b', 'generateContent', false],
    ['/models/a%b:generateContent', 'a%b', 'generateContent', false],
    ['gemini-2.5-pro:generateContent', 'gemini-2.5-pro', 'generateContent', false],
    ['/models/text-embedding-004:batchEmbedContents', 'text-embedding-004', 'batchEmbedContents', false],
    [`/models/${'m'.repeat(257)}:generateContent`, undefined, 'generateContent', false],
  ])('%s', (path, model, method, isVertex) => {
    expect(geminiTarget(path)).toEqual({ model, method, isVertex });
  });

  it.each([
    undefined,
    '',
    '/',
    '/v1/chat/completions',
    '/api/chat:send',
    '/models/:generateContent',
    '/chat?x=/m:generateContent',
  ])('nothing of a model, when it is %j', (path) => {
    expect(geminiTarget(path)).toBeUndefined();
  });

  it('is found in a path of any length', () => {
    expect(geminiTarget(`/${'x/'.repeat(50_000)}m:generateContent`)?.model).toBe('m');
    expect(geminiTarget('/'.repeat(100_000))).toBeUndefined();
    expect(geminiTarget(`/${':'.repeat(100_000)}`)).toBeUndefined();
    expect(geminiTarget(`/${'a:'.repeat(50_000)}`)).toBeUndefined();
  });
});

describe('the path for another model', () => {
  it.each([
    ['/v1beta/models/gemini-2.5-pro:generateContent', '/v1beta/models/small:generateContent'],
    [
      '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse&key=a:b/c',
      '/v1beta/models/small:streamGenerateContent?alt=sse&key=a:b/c',
    ],
    [`${VERTEX}/gemini-2.5-pro:generateContent`, `${VERTEX}/small:generateContent`],
    ['/v1beta/tunedModels/mine:generateContent', '/v1beta/models/small:generateContent'],
    [
      '/v1/projects/p/locations/l/endpoints/1:generateContent',
      '/v1/projects/p/locations/l/publishers/google/models/small:generateContent',
    ],
    ['gemini-2.5-pro:generateContent', 'small:generateContent'],
    ['/v1/chat/completions', '/v1/chat/completions'],
  ])('%s', (path, changed) => {
    expect(pathForModel(path, 'small')).toBe(changed);
  });

  it('holds whatever a model is called', () => {
    expect(pathForModel('/models/a:generateContent', 'b/../c?d')).toBe('/models/b%2F..%2Fc%3Fd:generateContent');
  });
});

describe('the plain name of a model', () => {
  it.each([
    ['models/gemini-2.5-pro', 'gemini-2.5-pro'],
    ['publishers/google/models/gemini-2.5-pro', 'gemini-2.5-pro'],
    ['projects/p/locations/l/endpoints/1', '1'],
    ['google/gemini-2.5-pro', 'google/gemini-2.5-pro'],
    ['gemini-2.5-pro', 'gemini-2.5-pro'],
    ['models/', 'models/'],
    ['', undefined],
    [7, undefined],
  ])('%j is %j', (given, name) => {
    expect(plainModel(given)).toBe(name);
  });
});
