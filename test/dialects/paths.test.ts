import { describe, expect, it } from 'vitest';
import { endpointOf, makesNoText } from '../../src/dialects/paths.js';

describe('the endpoint of a path', () => {
  it.each([
    ['/v1/chat/completions', 'chat/completions'],
    ['/v1/chat/completions/', 'chat/completions'],
    ['/openai/deployments/gpt-4o/Chat/Completions?api-version=2026-01-01', 'chat/completions'],
    ['/v1/completions', 'completions'],
    ['/completions#chat/completions', 'completions'],
    ['/v1/responses', 'responses'],
    ['/v1/responses/compact', 'responses'],
    ['/v1/responses/input_tokens', 'input_tokens'],
    ['/V1/MESSAGES', 'messages'],
    ['/v1/embeddings', 'embeddings'],
    ['/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse', 'streamGenerateContent'],
    ['/compact', undefined],
    ['/v1/responses/resp_1', undefined],
    ['/chat', undefined],
    ['/api/chat?to=/v1/responses', undefined],
    ['', undefined],
    ['////', undefined],
    [undefined, undefined],
  ])('%s is %s', (path, endpoint) => {
    expect(endpointOf(path)).toBe(endpoint);
  });

  it('is found in a path of any length', () => {
    expect(endpointOf(`/${'x/'.repeat(50_000)}responses`)).toBe('responses');
    expect(endpointOf('/'.repeat(100_000))).toBeUndefined();
  });
});

describe('a path where no text is made', () => {
  it.each([
    ['/v1/audio/speech', true],
    ['/v1/images/generations?x=1', true],
    ['/v1/Videos/', true],
    ['/openai/deployments/x/Images/Edits', true],
    ['/v1/responses', false],
    ['/api/translations', false],
    ['/audio', false],
    [undefined, false],
  ])('is seen in %s (%s)', (path, expected) => {
    expect(makesNoText(path)).toBe(expected);
  });
});
