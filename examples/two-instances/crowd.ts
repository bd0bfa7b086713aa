import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisClient } from 'spillway/redis';
import { createProvider } from 'spillway/testing';
import { type Instance, startInstance } from './instance.js';

const REQUESTS = 80;
const TOKENS_PER_MINUTE = 6_000;

/** Two instances with a client each; a crowd asks both at once, and they share what a minute grants. */
export async function sendCrowd(clients: readonly [RedisClient, RedisClient]): Promise<void> {
  const provider = await createProvider({ models: { 'gpt-4o': { tokensPerMinute: 100_000, requestsPerMinute: 1_000 } } });
  const instances = await Promise.all(clients.map((redis) => startInstance(redis, provider.url, TOKENS_PER_MINUTE)));
  const outcomes = instances.map(() => new Map<string, number>());

  await Promise.all(
    Array.from({ length: REQUESTS }, async (_, request) => {
      const to = request % instances.length;
      const outcome = await ask(instances[to] as Instance, request);
      outcomes[to]?.set(outcome, (outcomes[to]?.get(outcome) ?? 0) + 1);
    }),
  );
  await untilSettled(instances);

  instances.forEach(({ tokens }, index) => {
    const counts = [...(outcomes[index] ?? [])].sort().map(([outcome, count]) => `${count} ${outcome}`);
    console.log(`instance ${index + 1}: ${counts.join(', ')}; its calls used ${tokens} tokens`);
  });
  const sum = instances.reduce((all, { tokens }) => all + tokens, 0);
  const [budget] = (await (instances[0] as Instance).snapshot()).budgets;
  console.log(`together ${sum} tokens; Redis counts ${budget?.used} of ${budget?.limit} a minute`);
  console.log(`the provider refused ${provider.stats().refused429} of ${provider.stats().calls} calls`);

  await Promise.all([...instances, provider].map((each) => each.close()));
}

/** Asks once. @returns how the request was answered */
async function ask({ url }: Instance, request: number): Promise<string> {
  const response = await fetch(`${url}/api/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-4o',
      max_tokens: 120,
      messages: [{ role: 'user', content: `Question ${request}: where does the water go when the lake is full?` }],
    }),
  });
  await response.arrayBuffer();
  return response.headers.get('spillway-outcome') ?? `error ${response.status}`;
}

/** Settling goes on after an answer: nobody waits for it. */
async function untilSettled(instances: readonly Instance[]): Promise<void> {
  const isOver = async (instance: Instance) => {
    const { liveReservations, openRequests } = await instance.snapshot();
    return liveReservations + openRequests === 0;
  };
  while (!(await Promise.all(instances.map(isOver))).every(Boolean)) await sleep(10);
}
