// A process that holds a reservation and lets somebody wait, and then closes its gate. Ends by itself, or the test fails.
import { createSpillway, queue } from '../../../src/index.js';

const gate = createSpillway({
  models: { 'gpt-4o': { budgets: [{ concurrent: 1 }] } },
  ladder: [queue({ waitMs: 3_600_000 })],
});
await gate.ready();
const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello?' }] };
void gate.run({ body }, () => new Promise(() => {}));
const waiting = gate.run({ body }, async () => 'never');
while ((await gate.snapshot()).queueDepth === 0) await new Promise((resolve) => setImmediate(resolve));
const { liveReservations, queueDepth } = await gate.snapshot();

await gate.close();
await gate.close();

console.log(JSON.stringify({ liveReservations, queueDepth, waiter: (await waiting).kind }));
