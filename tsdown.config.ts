import { defineConfig } from 'tsdown';

export default defineConfig({
  entry: { index: 'src/index.ts', express: 'adapters/express.ts', testing: 'test/conformance/index.ts' },
  format: ['esm', 'cjs'],
  platform: 'node',
  target: 'node20.19',
  dts: true,
  // The output is not minified and its sources are not published: maps would point at nothing.
  sourcemap: false,
  clean: true,
  // Dependencies stay imports, vitest of the conformance suites too: who runs a suite has its own.
  deps: { skipNodeModulesBundle: true },
});
