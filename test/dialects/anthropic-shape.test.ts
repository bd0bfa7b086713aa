import { describe, expect, it } from 'vitest';
import { readMessagesBody } from '../../src/dialects/anthropic-read.js';

const MESSAGES = [{ role: 'user', content: 'Hello' }];
const body = (more: object) => ({ model: 'claude-sonnet-4-5', max_tokens: 100, messages: MESSAGES, ...more });
const block = (type: string, more: object = {}) => ({ type, ...more });

describe('reading without a path that decides', () => {
  const other = (more: object) => ({ model: 'my-model', messages: MESSAGES, ...more });
  const saying = (content: unknown[]) => other({ messages: [...MESSAGES, { role: 'user', content }] });

  it.each<[string, object]>([
    ['instructions beside the messages', other({ system: 'Be brief.' })],
    ['instructions in blocks', other({ system: [block('text', { text: 'Be brief.' })] })],
    ['a version of the API', other({ anthropic_version: 'vertex-2023-10-16' })],
    ['a maximum and thinking', other({ max_tokens: 9, thinking: { type: 'adaptive' } })],
    ['a tool with an input schema', other({ tools: [{ name: 'f', input_schema: {} }] })],
    ['a call of a tool', saying([block('tool_use', { name: 'f', input: {} })])],
    ['a result of a tool', saying([block('tool_result', { content: 'x' })])],
    ['an image with a source', saying([block('image', { source: { type: 'url', url: 'https://x.test/a.png' } })])],
    ['a document with a source', saying([block('document', { source: { type: 'file', file_id: 'f' } })])],
    ['a model named claude', { ...other({}), model: 'claude-sonnet-4-5' }],
    ['a model named claude told something in between', body({ messages: [...MESSAGES, { role: 'system', content: 'x' }] })],
  ])('takes a body that has %s', (_, given) => {
    expect(readMessagesBody(given)).toBeDefined();
    expect(readMessagesBody(given, '/api/chat')).toBeDefined();
  });

  it.each<[string, object]>([
    ['nothing of its own', other({ max_tokens: 9, stream: true, temperature: 0, tools: [{ name: 'f', parameters: {} }] })],
    ['a setting for thinking that is none', other({ max_tokens: 9, thinking: true })],
    ['thinking without a maximum', other({ thinking: { type: 'enabled' } })],
    ['an image without a source', saying([block('image', { image: 'https://x.test/a.png' })])],
    ['a model named after claude', { ...other({}), model: 'not-claude' }],
    ['a role of chats', body({ messages: [...MESSAGES, { role: 'tool', content: 'x' }] })],
    ['instructions as the first message', body({ messages: [{ role: 'system', content: 'x' }, ...MESSAGES] })],
    ['calls of chats', body({ messages: [...MESSAGES, { role: 'assistant', tool_calls: [] }] })],
    ['an image of chats', body({ messages: [{ role: 'user', content: [block('image_url', { image_url: { url: '' } })] }] })],
    ['a function among its tools', body({ tools: [block('function', { function: { name: 'f' } })] })],
    ['a number of choices', body({ n: 1 })],
    ['options of its stream', body({ stream: true, stream_options: { include_usage: true } })],
    ['a format of chats', body({ response_format: { type: 'json_object' } })],
    ['a maximum of chats', body({ max_completion_tokens: 5 })],
  ])('leaves a body that has %s', (_, given) => {
    expect(readMessagesBody(given)).toBeUndefined();
    expect(readMessagesBody(given, '/api/chat')).toBeUndefined();
  });
});
