import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anthropicMessages } from '../../src/dialects/anthropic.js';
import type { Dialect, Draft } from '../../src/dialects/dialect.js';
import { openaiChat } from '../../src/dialects/openai-chat.js';
import { openaiCompletions } from '../../src/dialects/openai-completions.js';
import { openaiEmbeddings } from '../../src/dialects/openai-embeddings.js';
import { openaiResponses } from '../../src/dialects/openai-responses.js';
import { createRegistry, readDraft } from '../../src/dialects/registry.js';

const CHAT = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] };
const own = (name: string, read: Dialect['read']): Dialect => ({ ...openaiChat, name, read });

describe('a dialect of the application that reads nonsense', () => {
  const good = readDraft(openaiChat, { model: 'm', messages: [] }, undefined) as Draft;

  it.each<[string, unknown, string]>([
    ['a text', 'x', 'its model must be a text'],
    ['no model', { ...good, model: '' }, 'its model must be a text'],
    ['no sections', { ...good, sections: undefined }, 'its sections must be a list, each with a list of parts'],
    ['sections without parts', { ...good, sections: [null] }, 'its sections must be a list, each with a list of parts'],
    ['no choices', { ...good, choices: 0 }, 'its choices must be a number from 1 on'],
    ['an odd maximum', { ...good, maximumOutputTokens: '9' }, 'its maximumOutputTokens must be a number or undefined'],
  ])('says so: %s', (_, draft, fault) => {
    const own = { ...openaiChat, name: 'own', read: () => draft as Draft };

    expect(() => createRegistry([own]).detect({})).toThrow(
      `read of the dialect "own" gave no draft: ${fault}; return undefined for a body that is not its own`,
    );
  });

  it('is passed over where it reads nothing', () => {
    for (const nothing of [undefined, null])
      expect(createRegistry([{ ...openaiChat, name: 'own', read: () => nothing as never }]).detect({})).toBeUndefined();
  });
});

describe('createRegistry', () => {
  it('finds the built-in dialect that reads a body, and what it read', () => {
    const found = createRegistry([]).detect(CHAT, '/v1/chat/completions');

    expect(found?.dialect).toBe(openaiChat);
    expect(found?.draft).toMatchObject({ model: 'gpt-4o', stream: false });
  });

  it('asks the dialects of the application first, in their order', () => {
    const asked: string[] = [];
    const asking = (name: string, read: Dialect['read']) =>
      own(name, (body) => {
        asked.push(name);
        return read(body);
      });
    const deaf = asking('deaf', () => undefined);
    const mine = asking('mine', openaiChat.read);

    const found = createRegistry([deaf, mine]).detect(CHAT);

    expect(found?.dialect).toBe(mine);
    expect(asked).toEqual(['deaf', 'mine']);
  });

  it('hands the path on', () => {
    const registry = createRegistry([own('by-path', (body, path) => (path === '/bot' ? openaiChat.read(body) : undefined))]);

    expect(registry.detect(CHAT, '/bot')?.dialect.name).toBe('by-path');
    expect(registry.detect(CHAT, '/v1/chat/completions')?.dialect.name).toBe('openai-chat');
    expect(registry.detect(CHAT, '/v1/embeddings')).toBeUndefined();
  });

  it.each([[undefined], [null], ['text'], [{}], [{ model: 'gpt-4o' }], [[CHAT]]])('finds none for %j', (body) => {
    expect(createRegistry([]).detect(body)).toBeUndefined();
  });

  it('finds a dialect by its name, one of the application before a built-in one', () => {
    const mine = own('openai-chat', () => undefined);

    expect(createRegistry([]).byName('openai-chat')).toBe(openaiChat);
    expect(createRegistry([mine]).byName('openai-chat')).toBe(mine);
    expect(createRegistry([mine]).byName('toString')).toBeUndefined();
  });
});

describe('telling messages from chat completions', () => {
  const MESSAGES = { ...CHAT, model: 'claude-sonnet-4-5', max_tokens: 9, system: 'Be brief.' };
  const detect = (body: object, path?: string) => createRegistry([]).detect(body, path)?.dialect.name;

  it.each([
    ['/v1/messages', 'anthropic-messages'],
    ['/v1/messages?beta=true', 'anthropic-messages'],
    ['/v1/chat/completions', 'openai-chat'],
    ['/v1/messages/count_tokens', undefined],
    ['/v1/messages/batches', undefined],
    ['/v1/embeddings', undefined],
  ])('a path of %s decides, whatever the body looks like', (path, dialect) => {
    expect(detect(CHAT, path)).toBe(dialect);
    expect(detect(MESSAGES, path)).toBe(dialect);
  });

  it.each([undefined, '/', '/api/chat'])('the shape decides where the path %s does not', (path) => {
    expect(detect(CHAT, path)).toBe('openai-chat');
    expect(detect(MESSAGES, path)).toBe('anthropic-messages');
    expect(detect({ ...MESSAGES, model: 'my-alias' }, path)).toBe('anthropic-messages');
  });

  it('the model decides where the shape does not', () => {
    expect(detect({ ...CHAT, model: 'claude-sonnet-4-5' })).toBe('anthropic-messages');
    expect(detect({ ...CHAT, model: 'anthropic/claude-sonnet-4.5' })).toBe('openai-chat');
    expect(detect({ ...CHAT, model: 'claude-sonnet-4-5', response_format: { type: 'json_object' } })).toBe('openai-chat');
  });

  it('both are found by their names, and errors are written as for chat completions where none read the body', () => {
    const registry = createRegistry([]);

    expect(registry.byName('anthropic-messages')).toBe(anthropicMessages);
    expect(registry.names).toEqual(expect.arrayContaining(['anthropic-messages', 'openai-chat']));
    expect(registry.fallback).toBe(openaiChat);
  });
});

describe('telling all wire formats apart', () => {
  const BODIES = {
    chat: CHAT,
    messages: { ...CHAT, max_tokens: 9, system: 'Be brief.' },
    question: { model: 'gpt-4o', input: 'Hello' },
    items: { model: 'gpt-4o', input: [{ role: 'user', content: 'Hello' }], stream: true },
    'a list of texts': { model: 'my-model', input: ['Hello', 'world'] },
    'a list of tokens': { model: 'my-model', input: [1, 2, 3] },
    'a text to embed': { model: 'text-embedding-3-small', input: 'Hello' },
    prompt: { model: 'davinci-002', prompt: 'Hello' },
    'a list of prompts': { model: 'davinci-002', prompt: ['Hello', 'world'] },
    'messages and a prompt': { ...CHAT, prompt: 'Hello' },
    'messages and an input': { ...CHAT, input: 'Hello' },
    'an input and a prompt': { model: 'gpt-4o', input: 'Hello', prompt: 'Hello' },
    'instructions alone': { model: 'gpt-4o', instructions: 'Go on.' },
    'a model alone': { model: 'gpt-4o' },
  };
  const CHATS = {
    chat: 'openai-chat',
    messages: 'openai-chat',
    'messages and a prompt': 'openai-chat',
    'messages and an input': 'openai-chat',
  };
  const MESSAGES = {
    chat: 'anthropic-messages',
    messages: 'anthropic-messages',
    'messages and a prompt': 'anthropic-messages',
    'messages and an input': 'anthropic-messages',
  };
  const RESPONSES = {
    question: 'openai-responses',
    items: 'openai-responses',
    'a list of texts': 'openai-responses',
    'a list of tokens': 'openai-responses',
    'a text to embed': 'openai-responses',
    'messages and an input': 'openai-responses',
    'an input and a prompt': 'openai-responses',
    'instructions alone': 'openai-responses',
  };
  const EMBEDDINGS = {
    question: 'openai-embeddings',
    items: 'openai-embeddings',
    'a list of texts': 'openai-embeddings',
    'a list of tokens': 'openai-embeddings',
    'a text to embed': 'openai-embeddings',
    'messages and an input': 'openai-embeddings',
    'an input and a prompt': 'openai-embeddings',
  };
  const COMPLETIONS = {
    chat: 'openai-chat',
    messages: 'openai-chat',
    question: 'openai-completions',
    items: 'openai-completions',
    'a list of texts': 'openai-completions',
    'a list of tokens': 'openai-completions',
    'a text to embed': 'openai-completions',
    prompt: 'openai-completions',
    'a list of prompts': 'openai-completions',
    'messages and a prompt': 'openai-completions',
    'messages and an input': 'openai-chat',
    'an input and a prompt': 'openai-completions',
    'instructions alone': 'openai-completions',
    'a model alone': 'openai-completions',
  };
  const SHAPES = {
    chat: 'openai-chat',
    messages: 'anthropic-messages',
    question: 'openai-responses',
    items: 'openai-responses',
    'a list of texts': 'openai-embeddings',
    'a list of tokens': 'openai-embeddings',
    'a text to embed': 'openai-embeddings',
    prompt: 'openai-completions',
    'a list of prompts': 'openai-completions',
    'messages and a prompt': 'openai-chat',
    'messages and an input': 'openai-chat',
    'an input and a prompt': 'openai-responses',
  };
  const SPEECH = {
    chat: 'openai-chat',
    messages: 'anthropic-messages',
    'messages and a prompt': 'openai-chat',
    'messages and an input': 'openai-chat',
  };

  it.each<[string | undefined, Record<string, string>]>([
    ['/v1/chat/completions', CHATS],
    ['/openai/deployments/x/chat/completions?api-version=2026-01-01', CHATS],
    ['/v1/messages', MESSAGES],
    ['/v1/responses', RESPONSES],
    ['/V1/Responses/', RESPONSES],
    ['/v1/responses/compact', RESPONSES],
    ['/v1/embeddings', EMBEDDINGS],
    ['/v1/completions', COMPLETIONS],
    ['/v1/engines/davinci/completions', COMPLETIONS],
    [undefined, SHAPES],
    ['', SHAPES],
    ['/api/chat', SHAPES],
    ['/v1/responses/chat', SHAPES],
    ['/v1/audio/speech', SPEECH],
    ['/v1/images/generations', SPEECH],
    ['/v1/responses/input_tokens', {}],
    ['/v1/messages/count_tokens', {}],
    ['/v1/moderations', {}],
    ['/v1beta/models/gemini-2.5-pro:generateContent', {}],
  ])('sends each body at %s where it belongs', (path, expected) => {
    const registry = createRegistry([]);
    const found = Object.entries(BODIES).flatMap(([name, body]) => {
      const dialect = registry.detect(body, path)?.dialect.name;
      return dialect ? [[name, dialect]] : [];
    });

    expect(Object.fromEntries(found)).toEqual(expected);
  });

  it.each<[object, string]>([
    [{ input: 'x', instructions: 'Be brief.' }, 'openai-responses'],
    [{ input: ['x'], max_output_tokens: 5 }, 'openai-responses'],
    [{ input: ['x'], text: { format: { type: 'text' } } }, 'openai-responses'],
    [{ input: ['x'], tools: [] }, 'openai-responses'],
    [{ input: ['x'], reasoning: { effort: 'low' } }, 'openai-responses'],
    [{ input: ['x'], previous_response_id: 'resp_0' }, 'openai-responses'],
    [{ input: ['x'], previous_response_id: null }, 'openai-embeddings'],
    [{ input: ['x', { role: 'user', content: 'y' }] }, 'openai-responses'],
    [{ input: [] }, 'openai-responses'],
    [{ input: [[1, 2], [3]] }, 'openai-embeddings'],
    [{ input: 'x', dimensions: 5 }, 'openai-responses'],
    [{ model: 'mistral-embed', input: 'x' }, 'openai-embeddings'],
    [{ model: 'openai/text-embedding-3-large', input: 'x', instructions: 'Embed.' }, 'openai-embeddings'],
  ])('takes %j, sent to a route of the application, for %s', (fields, dialect) => {
    expect(createRegistry([]).detect({ model: 'my-model', ...fields }, '/bot')?.dialect.name).toBe(dialect);
  });

  it('lets no two of the formats of OpenAI read the same body', () => {
    const dialects = [openaiChat, openaiResponses, openaiEmbeddings, openaiCompletions];
    const given = fc.oneof(fc.constantFrom<unknown>(null, '', 'x', 7, [], ['x'], [1], [{}], {}), fc.jsonValue({ maxDepth: 2 }));
    const body = fc.record(
      {
        model: fc.constantFrom('gpt-4o', 'text-embedding-3-small'),
        messages: given,
        input: given,
        prompt: given,
        instructions: given,
        tools: given,
      },
      { requiredKeys: ['model'] },
    );
    const paths = [
      undefined,
      '/bot',
      '/completions',
      '/chat/completions',
      '/responses',
      '/embeddings',
      '/audio/speech',
      '/compact',
    ];

    fc.assert(
      fc.property(body, fc.constantFrom(...paths), (value, path) => {
        expect(dialects.filter((dialect) => dialect.read(value, path)).length).toBeLessThanOrEqual(1);
      }),
      { numRuns: 2_000 },
    );
  });
});
