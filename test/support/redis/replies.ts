import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Decision } from '../../../src/stores/redis/decisions.js';
import type { Item } from '../../../src/stores/store.js';
import { ROOT } from '../docs.js';

/** A reply of the shared counts, and what it answers. */
export type Reply =
  | ({
      readonly verb: 'reserve';
      readonly id: string;
      readonly items: readonly Item[];
      readonly from: string | undefined;
      readonly leaseMs: number;
    } & Decision)
  | {
      readonly verb: 'settle';
      readonly id: string;
      readonly amounts: readonly number[];
      readonly seq: number;
      readonly atMs: number;
    };

/** Lets some processes hammer the same counts for a while, all at once. @returns what each of them was answered */
export async function hammer(
  redis: { readonly port: number },
  prefix: string,
  { processes, how, ms }: { readonly processes: number; readonly how: 'mixed' | 'burst'; readonly ms: number },
): Promise<Reply[][]> {
  const children = Array.from({ length: processes }, (_, index) =>
    fork('test/support/redis/children/hammers.ts', [`${redis.port}`, prefix, `p${index}`, how, `${ms}`], {
      cwd: ROOT,
      execArgv: ['--import', 'tsx'],
      // As they are: JSON knows no infinity.
      serialization: 'advanced',
    }),
  );
  try {
    await Promise.all(children.map((child) => once(child, 'message')));
    const replies = children.map(async (child) => (await once(child, 'message'))[0] as Reply[]);
    for (const child of children) child.send('go');
    return await Promise.all(replies);
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

/**
 * In the order in which Redis ran them: a change has a number of its own, whatever changed nothing has that of the change
 * before it.
 */
export function inOrder(replies: readonly Reply[]): Reply[] {
  const byTime = [...replies].sort((a, b) => a.seq - b.seq || a.atMs - b.atMs);
  const changed = new Set<string>();
  const changes = new Set<Reply>();
  for (const reply of byTime) {
    if (reply.verb === 'reserve' && reply.kind === 'full') continue;
    const name = `${reply.verb} ${reply.id}`;
    if (!changed.has(name)) changes.add(reply);
    changed.add(name);
  }
  const isLater = (reply: Reply) => (changes.has(reply) ? 0 : 1);
  return byTime.sort((a, b) => a.seq - b.seq || isLater(a) - isLater(b) || a.atMs - b.atMs);
}
