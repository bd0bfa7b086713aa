/** The frameworks that the package has adapters for. */
export const frameworks = ['express', 'koa'] as const;
export type Framework = (typeof frameworks)[number];

/** A gate with room for one request, and a mount of it. */
const GATE = `
const gate = createSpillway({
  models: { 'gpt-4o': { budgets: [{ tokens: 100_000, per: 'minute' }] } },
  scopes: { user: { budgets: [{ requests: 1, per: 'hour' }] } },
  ladder: [],
});
`;

const APPS: Readonly<Record<Framework, string>> = {
  express: `
const app = express();
app.post('/chat', spillway(gate, { identify: (req) => ({ user: req.get('x-user') }) }), (req, res) => {
  res.json({ asked: spillwayOf(req).requestedModel, isExposed: req.spillway === spillwayOf(req) });
});
`,
  koa: `
const app = new Koa();
app.use(spillway(gate, { identify: (ctx) => ({ user: ctx.get('x-user') }) }));
app.use((ctx) => {
  ctx.body = { asked: spillwayOf(ctx).requestedModel, isExposed: ctx.state.spillway === spillwayOf(ctx) };
});
`,
};

/** Asks twice, prints what came, and takes everything down: the process must end by itself. */
const ASK = `
const server = app.listen(0, '127.0.0.1', async () => {
  const { port } = server.address() as AddressInfo;
  const came: unknown[] = [];
  for (let asked = 0; asked < 2; asked++) {
    const response = await fetch(\`http://127.0.0.1:\${port}/chat\`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-user': 'ada' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Where does the water go?' }] }),
    });
    came.push({ status: response.status, outcome: response.headers.get('spillway-outcome'), body: await response.json() });
  }
  console.log(JSON.stringify(came));
  server.close();
  await gate.close();
});
`;

/** A store on a client that never answers: budgets decide by themselves, and nothing keeps the process alive. */
const REDIS = `
const client = { evalsha: async () => { throw new Error('away'); }, eval: async () => { throw new Error('away'); } };
const gate = createSpillway({ store: redisStore(client), scopes: { user: { budgets: [{ requests: 1, per: 'hour' }] } }, ladder: [] });
const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Where does the water go?' }] };
const kinds: string[] = [];
for (let asked = 0; asked < 2; asked++) {
  const { kind } = await gate.as({ user: 'ada' }).run({ dialect: 'openai-chat', body }, async () => 'sent');
  kinds.push(kind);
}
console.log(JSON.stringify(kinds));
await gate.close();
`;
const REDIS_HEAD = `import { createSpillway } from 'spillway';
import { type RedisClient, type RedisStoreOptions, redisStore } from 'spillway/redis';
`;
/** What a caller's own code would get wrong. */
const REDIS_WRONG = `
// @ts-expect-error no option of the store
const wrong: RedisStoreOptions = { timeout: 50 };
// @ts-expect-error no client
redisStore({ get: async () => '' });
export const typed: RedisClient = client;
`;
/** CommonJS waits for nothing at its top. */
const inMain = (text: string) => `(async () => {${text}})();\n`;

const untyped = (text: string) => text.replace(' as AddressInfo', '').replace(/: (unknown|string)\[\]/, '');
const FACTORY: Readonly<Record<Framework, string>> = { express: 'express', koa: 'Koa' };
const HEAD = (framework: Framework) => `import ${FACTORY[framework]} from '${framework}';
import { createSpillway } from 'spillway';
import { spillway, spillwayOf } from 'spillway/${framework}';
`;
const REQUIRE = (framework: Framework) => `const ${FACTORY[framework]} = require('${framework}');
const { createSpillway } = require('spillway');
const { spillway, spillwayOf } = require('spillway/${framework}');
`;
const HEAD_CTS = (framework: Framework) => HEAD(framework).replace(/^import (\w+) from '(\w+)'/, `import $1 = require('$2')`);
const TYPED = `import type { AddressInfo } from 'node:net';
`;

/** Programs that run, by the name of their file. */
export const PROGRAMS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    frameworks.flatMap((framework) => [
      [`${framework}.mjs`, HEAD(framework) + GATE + APPS[framework] + untyped(ASK)],
      [`${framework}.cjs`, REQUIRE(framework) + GATE + APPS[framework] + untyped(ASK)],
    ]),
  ),
  'redis.mjs': `import { createSpillway } from 'spillway';\nimport { redisStore } from 'spillway/redis';\n${untyped(REDIS)}`,
  'redis.cjs': `const { createSpillway } = require('spillway');\nconst { redisStore } = require('spillway/redis');\n${inMain(untyped(REDIS))}`,
};

/** What a caller's own code would get wrong: each line must be an error, or the types say nothing. */
const WRONG = `
// @ts-expect-error a scope nobody configured
spillway(gate, { identify: () => ({ usr: 'ada' }) });
// @ts-expect-error no option of a mount
spillway(gate, { rout: 'chat' });
`;

const config = (module: string, moduleResolution: string, include: readonly string[]) =>
  JSON.stringify({
    compilerOptions: {
      module,
      moduleResolution,
      target: 'es2023',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: ['node'],
    },
    include,
  });

/** The same programs with types, and how they are checked. */
export const CHECKS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    frameworks.flatMap((framework) => [
      [`${framework}-typed.mts`, HEAD(framework) + TYPED + GATE + APPS[framework] + ASK + WRONG],
      [`${framework}-typed.cts`, HEAD_CTS(framework) + TYPED + GATE + APPS[framework] + ASK + WRONG],
      [`${framework}-typed.ts`, HEAD(framework) + TYPED + GATE + APPS[framework] + ASK + WRONG],
    ]),
  ),
  'redis-typed.mts': REDIS_HEAD + REDIS + REDIS_WRONG,
  'redis-typed.cts': REDIS_HEAD + REDIS.replace(/^for [\s\S]*/m, '') + REDIS_WRONG,
  'redis-typed.ts': REDIS_HEAD + REDIS + REDIS_WRONG,
  // Apart: an application that imports the package and requires it has it twice.
  'tsconfig.node16-import.json': config('node16', 'node16', ['*.mts', '*.ts']),
  'tsconfig.node16-require.json': config('node16', 'node16', ['*.cts']),
  'tsconfig.bundler.json': config('esnext', 'bundler', ['*-typed.ts']),
};
