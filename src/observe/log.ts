import type { Events, Logger } from './events.js';

/** Writes one line per answered request, and one per thing that an operator should mend. */
export function logRequests(events: Events, logger: Logger): void {
  events.on('request-answered', ({ usage, ...facts }) => {
    logger.info({ ...facts, usedInputTokens: usage?.inputTokens, usedOutputTokens: usage?.outputTokens }, 'request answered');
  });
  events.on('call-unseen', (facts) => {
    logger.warn(
      facts,
      'a request was charged by its size: use gate.fetch or gate.run for its calls, or give the mount a dialect',
    );
  });
  const told = new Set<string>();
  events.on('identity-missing', (facts) => {
    const name = `${facts.route} ${facts.scope}`;
    if (!told.has(name))
      logger.warn(facts, 'no key for a scope that needs one: a request was refused, or a call made outside every mount');
    told.add(name);
  });
  events.on('store-failed', ({ operation, error }) => logger.warn({ operation, err: error }, 'the store failed'));
  events.on('store-notice', (facts) => logger.warn(facts, facts.message));
  let hasWarned = false;
  events.on('context-missing', (facts) => {
    if (!hasWarned)
      logger.warn(
        facts,
        'a call ran outside its request: its context was lost; use spillwayOf(req).fetch or gate.as(identity).fetch',
      );
    hasWarned = true;
  });
}
