import { until } from '../loopback.js';
import { type RedisOptions, type RedisServer, startRedis } from './server.js';

const SLOTS = 16_384;
const LOOKS_PER_MEETING = 100;

/** Masters that share the slots; no replicas. */
export interface RedisCluster {
  /** In the order of their slots. */
  readonly nodes: readonly RedisServer[];
  /** Where a client may begin, as ioredis takes it. */
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  /** The node that has the slot of a key. */
  ownerOf(key: string): Promise<RedisServer>;
  stop(): Promise<void>;
}

export interface ClusterOptions extends Pick<RedisOptions, 'config'> {
  /** @defaultValue 3 */
  readonly masters?: number;
}

/** Starts a cluster, and waits until each of its nodes finds it whole. */
export async function startCluster({ masters = 3, config = [] }: ClusterOptions = {}): Promise<RedisCluster> {
  const nodes: RedisServer[] = [];
  const stop = async () => void (await Promise.all(nodes.map((node) => node.stop())));
  try {
    for (let index = 0; index < masters; index++) {
      nodes.push(await startRedis({ config: ['cluster-enabled yes', 'cluster-node-timeout 2000', ...config] }));
    }
    await join(nodes);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    nodes,
    addresses: nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
    async ownerOf(key) {
      const slot = (await (nodes[0] as RedisServer).cli('CLUSTER', 'KEYSLOT', key)) as number;
      return nodes.find((_, index) => slot < firstSlot(index + 1, masters)) as RedisServer;
    },
    stop,
  };
}

async function join(nodes: readonly RedisServer[]): Promise<void> {
  for (const [index, node] of nodes.entries()) {
    const [first, next] = [firstSlot(index, nodes.length), firstSlot(index + 1, nodes.length)];
    // Slot by slot: servers before 7.0 know no ranges.
    await node.cli('CLUSTER', 'ADDSLOTS', ...Array.from({ length: next - first }, (_, offset) => first + offset));
    await node.cli('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
  }
  const [first, ...others] = nodes as [RedisServer, ...RedisServer[]];
  for (const node of nodes) {
    let looks = 0;
    await until(async () => {
      // A node forgets whom it was to meet when the other was not quick enough; whom it knows it may meet again.
      if (looks++ % LOOKS_PER_MEETING === 0) for (const { port } of others) await first.cli('CLUSTER', 'MEET', '127.0.0.1', port);
      const info = `${await node.cli('CLUSTER', 'INFO')}`;
      return [`cluster_state:ok`, `cluster_slots_ok:${SLOTS}`, `cluster_known_nodes:${nodes.length}`].every((fact) =>
        info.includes(`${fact}\r\n`),
      );
    });
  }
}

function firstSlot(index: number, masters: number): number {
  return Math.floor((index * SLOTS) / masters);
}
