import { defineConfig } from 'tsdown';

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    express: 'adapters/express.ts',
    koa: 'adapters/koa.ts',
    redis: 'src/stores/redis/index.ts',
    testing: 'test/conformance/index.ts',
    cli: 'src/cli/main.ts',
  },
  // The conformance suites stand on vitest, which nothing can require, and nothing requires a program: these entries are ESM alone.
  format: {
    esm: {},
    cjs: {
      entry: {
        index: 'src/index.ts',
        express: 'adapters/express.ts',
        koa: 'adapters/koa.ts',
        redis: 'src/stores/redis/index.ts',
      },
    },
  },
  platform: 'node',
  target: 'node20.19',
  dts: true,
  // The output is not minified and its sources are not published: maps would point at nothing.
  sourcemap: false,
  clean: true,
  // Dependencies stay imports, vitest of the conformance suites too: who runs a suite has its own.
  deps: { skipNodeModulesBundle: true },
});
