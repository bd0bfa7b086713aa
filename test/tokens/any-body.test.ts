import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readMessagesBody } from '../../src/dialects/anthropic-read.js';
import { readChat } from '../../src/dialects/openai-chat-read.js';
import { readResponsesBody } from '../../src/dialects/openai-responses-read.js';
import { estimatePrompt } from '../../src/tokens/estimate.js';
import type { Tokenizer } from '../../src/tokens/tokenizer.js';

const letters: Tokenizer = { count: (text) => text.length, isReady: () => true, ready: async () => {} };
const SETTINGS = { overheadRatio: 0.1, imageOverheadRatio: 0.15 };

const model = fc.constantFrom('gpt-4o', 'gpt-3.5-turbo', 'gpt-5-mini', 'o3', 'claude-sonnet-4-5', 'claude-opus-5', 'another');
const KEYS = [
  'type',
  'text',
  'name',
  'role',
  'content',
  'source',
  'data',
  'url',
  'image_url',
  'input',
  'arguments',
  'tools',
  'input_audio',
];
const TYPES = [
  'text',
  'image',
  'document',
  'tool_use',
  'function',
  'input_audio',
  'file',
  'custom',
  'file_search',
  'additional_tools',
];

/** Values that look like parts of bodies, and what has no business to be there. */
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(
      fc.string(),
      fc.constantFrom(...TYPES),
      fc.double(),
      fc.constant(null),
      fc.constant('data:image/png;base64,iVBORw0KGgo='),
    ),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...KEYS, ...['parameters', 'properties', 'items', 'enum', '$ref', 'default']), tie('value'), {
      maxKeys: 5,
    }),
  ),
}));
const list = fc.array(value, { maxLength: 5 });

describe('whatever a body holds', () => {
  it.each([
    ['chat completions', readChat, '/v1/chat/completions'],
    ['responses', readResponsesBody, '/v1/responses'],
    ['messages', readMessagesBody, '/v1/messages'],
  ] as const)('of %s, its estimate is there, in whole numbers that add up', (_, read, path) => {
    fc.assert(
      fc.property(model, list, list, value, value, (name, messages, tools, choice, format) => {
        const body = {
          model: name,
          messages,
          input: messages,
          tools,
          tool_choice: choice,
          response_format: { type: 'json_schema', json_schema: format },
          text: { format: { type: 'json_schema', schema: format } },
          output_format: { type: 'json_schema', schema: format },
        };
        const draft = read(body, path);
        expect(draft).toBeDefined();
        if (!draft) return;

        const { inputTokens, heldInputTokens, breakdown } = estimatePrompt(draft, name, letters, SETTINGS);

        expect(Number.isSafeInteger(inputTokens) && inputTokens > 0).toBe(true);
        expect(heldInputTokens).toBeGreaterThan(inputTokens);
        expect(breakdown.every(({ tokens }) => Number.isSafeInteger(tokens) && tokens >= 0)).toBe(true);
        expect(breakdown.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(inputTokens);
      }),
      { numRuns: 300 },
    );
  });
});
