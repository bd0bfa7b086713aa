import type { TestProject } from 'vitest/node';
import { startRedis } from './server.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server of this run, or why there is none. */
    redis: { readonly port: number } | { readonly problem: string };
  }
}

/** One server for all test files of a run. Without a server on this machine only the tests that ask for it fail. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  try {
    const server = await startRedis();
    project.provide('redis', { port: server.port });
    return () => server.stop();
  } catch (error) {
    project.provide('redis', { problem: error instanceof Error ? error.message : `${error}` });
    return undefined;
  }
}
