import { describe, expect, it } from 'vitest';
import { hashKey } from '../../src/identity.js';
import { callFacts, fullFacts, hashedScopes } from '../../src/observe/facts.js';
import { budgetOf, callOf, chargeOf, visitOf } from '../support/builders.js';

describe('what events say of a call', () => {
  it('names scopes and hashes their keys', () => {
    const visit = visitOf({ identity: { user: 'ann@example.com', organization: 'acme' } });

    expect(hashedScopes(visit)).toEqual({ user: hashKey('ann@example.com'), organization: hashKey('acme') });
    expect(JSON.stringify(callFacts(callOf({ visit })))).not.toMatch(/ann|example|acme/);
  });

  it('names the route of the mount around it', () => {
    const outer = visitOf({ route: 'chat' });

    expect(callFacts(callOf({ visit: visitOf({ outer }) })).route).toBe('chat');
    expect(callFacts(callOf({ visit: visitOf({ outer, route: 'inner' }) })).route).toBe('inner');
    expect(callFacts(callOf()).route).toBeUndefined();
  });

  it('names both models', () => {
    expect(callFacts(callOf({ requestedModel: 'gpt-4o', model: 'vendor/gpt-4o-mini:free' }))).toMatchObject({
      requestedModel: 'gpt-4o',
      model: 'vendor/gpt-4o-mini:free',
    });
    expect(callFacts(callOf({ requestedModel: undefined, model: undefined }))).toMatchObject({ model: undefined });
  });

  it.each([
    'my password is hunter2',
    'line\nbreak',
    'x'.repeat(129),
    '',
    'sk-proj-Ab1Cd2Ef3Gh4',
    'gsk_Ab1Cd2',
    'AIzaSyAb1Cd2',
    'eyJhbGciOiJIUzI1NiJ9.e30.x',
  ])('does not repeat %j, which is no name of a model', (text) => {
    expect(callFacts(callOf({ requestedModel: text, model: text }))).toMatchObject({
      requestedModel: '(unnamed)',
      model: '(unnamed)',
    });
  });

  it('carries nothing of the body', () => {
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'a secret' }] };

    expect(JSON.stringify(callFacts(callOf({ body })))).not.toContain('secret');
  });
});

describe('what events say of full budgets', () => {
  it('is their scope, dimension, name and wait, and no key nor figure', () => {
    const named = chargeOf({ key: 'ann', budget: budgetOf({ tokens: 4_321, per: 'minute', name: 'burst' }) });
    const plain = chargeOf({ key: 'ann', scope: 'organization', budget: budgetOf({ usd: 5, per: 'day' }) });
    const facts = fullFacts({
      reason: 'full',
      full: [
        { charge: named, waitMs: 100 },
        { charge: plain, waitMs: 200 },
      ],
      waitMs: 200,
    });

    expect(facts).toEqual([
      { scope: 'user', dimension: 'tokens', budget: 'burst', waitMs: 100 },
      { scope: 'organization', dimension: 'usd', budget: 'usd;day@UTC', waitMs: 200 },
    ]);
  });
});
