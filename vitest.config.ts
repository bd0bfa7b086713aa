import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));

export default defineConfig({
  resolve: {
    // Examples import the package by its name.
    alias: [
      { find: /^spillway$/, replacement: path('src/index.ts') },
      { find: /^spillway\/express$/, replacement: path('adapters/express.ts') },
      { find: /^spillway\/koa$/, replacement: path('adapters/koa.ts') },
      { find: /^spillway\/redis$/, replacement: path('src/stores/redis/index.ts') },
      { find: /^spillway\/testing$/, replacement: path('test/conformance/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/redis/global-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
