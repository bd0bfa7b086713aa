// Two instances of one server on one Redis: what a minute grants is shared by both, to the token.
import { Redis } from 'ioredis';
import { startRedis } from '../../test/support/redis/server.js';
import { sendCrowd } from './crowd.js';

const server = await startRedis();
const [one, other] = [new Redis(server.url), new Redis(server.url)];
try {
  await sendCrowd([one, other]);
} finally {
  one.disconnect();
  other.disconnect();
  await server.stop();
}
