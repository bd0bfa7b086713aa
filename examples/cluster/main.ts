// Two instances of one server on a Redis Cluster of three masters: one prefix lies on one of them, and counts as exactly.
import { Cluster } from 'ioredis';
import { startCluster } from '../../test/support/redis/cluster.js';
import { sendCrowd } from '../two-instances/crowd.js';

const cluster = await startCluster();
const [one, other] = [new Cluster([...cluster.addresses]), new Cluster([...cluster.addresses])];
try {
  await sendCrowd([one, other]);
  const keys = await Promise.all(cluster.nodes.map((node) => node.cli('DBSIZE')));
  const owner = cluster.nodes.indexOf(await cluster.ownerOf('{spillway}'));
  console.log(`keys on the masters: ${keys.join(', ')}; {spillway} belongs to the ${['first', 'second', 'third'][owner]}`);
} finally {
  one.disconnect();
  other.disconnect();
  await cluster.stop();
}
