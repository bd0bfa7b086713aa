// Starts a server, tells its port and its folder, and ends as it is told: by an error, or by whoever kills it.
import { startRedis } from '../server.js';

const server = await startRedis();
console.log(JSON.stringify([server.port, await server.cli('CONFIG', 'GET', 'dir')]));
if (process.argv[2] === 'throws') throw new Error('the end');
setInterval(() => {}, 1_000);
