import express from 'express';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { spillway } from '../../adapters/express.js';
import { createEvents } from '../../src/observe/events.js';
import { logRequests } from '../../src/observe/log.js';
import { createSpillway } from '../../src/spillway.js';
import { chat, completion } from '../support/chat.js';

function create() {
  const events = createEvents();
  const logger = { info: vi.fn(), warn: vi.fn() };
  logRequests(events, logger);
  return { events, logger };
}

const ANSWERED = {
  route: 'chat',
  scopes: { user: '0123456789ab' },
  requestedModel: 'gpt-4o',
  model: 'gpt-4o-mini',
  outcome: 'cheaper',
  status: 200,
  inputTokens: 100,
  usage: { inputTokens: 90, outputTokens: 30 },
  calls: 1,
  waitedMs: 0,
  durationMs: 812,
} as const;

describe('the log', () => {
  it('has one line for each answered request, flat', () => {
    const { events, logger } = create();

    events.emit('request-answered', ANSWERED);

    const { usage: _, ...facts } = ANSWERED;
    expect(logger.info.mock.calls).toEqual([[{ ...facts, usedInputTokens: 90, usedOutputTokens: 30 }, 'request answered']]);
    expect(logger.warn).not.toHaveBeenCalled();
  });

  it('has a line for everything that an operator should mend', () => {
    const { events, logger } = create();
    const error = new Error('connection refused');

    events.emit('call-unseen', { route: 'chat', tokens: 120 });
    events.emit('identity-missing', { route: 'chat', scope: 'user' });
    events.emit('store-failed', { operation: 'reserve', error });
    events.emit('store-notice', { code: 'overflow', message: 'raise maxKeys' });

    expect(logger.warn.mock.calls.map(([fields]) => fields)).toEqual([
      { route: 'chat', tokens: 120 },
      { route: 'chat', scope: 'user' },
      { operation: 'reserve', err: error },
      { code: 'overflow', message: 'raise maxKeys' },
    ]);
  });

  it('tells of a lost context once', () => {
    const { events, logger } = create();

    for (let i = 0; i < 3; i++) events.emit('context-missing', { model: 'gpt-4o' });

    expect(logger.warn).toHaveBeenCalledTimes(1);
  });

  it('has no line for what happens with every call', () => {
    const { events, logger } = create();
    const facts = { route: 'chat', scopes: {}, requestedModel: 'gpt-4o', model: 'gpt-4o' };

    events.emit('call-refused', { ...facts, reason: 'full', full: [] });
    events.emit('step-skipped', { ...facts, step: 'queue', why: 'no-help' });

    expect(logger.info).not.toHaveBeenCalled();
    expect(logger.warn).not.toHaveBeenCalled();
  });

  it('harms nobody when the logger throws', () => {
    const events = createEvents();
    const fail = () => {
      throw new Error('disk full');
    };
    logRequests(events, { info: fail, warn: fail });

    expect(() => events.emit('request-answered', ANSWERED)).not.toThrow();
  });
});

it('carries no text of a body, not even where a model should be named', async () => {
  const logger = { info: vi.fn(), warn: vi.fn() };
  const gate = createSpillway({ logger });
  const app = express();
  app.post('/chat', express.json(), spillway(gate, { route: 'chat' }), (_req, res) => void res.json(completion()));

  await request(app)
    .post('/chat')
    .send(chat({ model: 'my password is hunter2', messages: [{ role: 'user', content: 'and my name is Ada' }] }));
  await vi.waitFor(() => expect(logger.info).toHaveBeenCalledTimes(1));
  await gate.close();

  expect(logger.info.mock.calls[0]?.[0]).toMatchObject({ route: 'chat', requestedModel: '(unnamed)', outcome: 'passed' });
  expect(JSON.stringify([logger.info.mock.calls, logger.warn.mock.calls])).not.toMatch(/hunter2|Ada/);
});
