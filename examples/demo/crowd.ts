import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';

/** What one user of the crowd received. */
export interface Received {
  readonly status: number;
  readonly outcome: string;
  readonly model: string;
  readonly ms: number;
}

export interface Listening {
  readonly url: string;
  close(): Promise<void>;
}

export async function listen(app: Express, port = 0): Promise<Listening> {
  const server = createServer(app).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** `users` people ask once each, evenly spread over `overMs`; ten organizations. */
export async function sendCrowd(url: string, users: number, overMs: number): Promise<readonly Received[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  const all = Array.from({ length: users }, async (_, user) => {
    await new Promise((resolve) => setTimeout(resolve, (user / users) * overMs));
    return ask(`${url}/api/chat`, user, agent);
  });
  const received = await Promise.all(all);
  agent.destroy();
  return received;
}

function ask(url: string, user: number, agent: Agent): Promise<Received> {
  const body = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: questionOf(user) }] });
  const beganMs = performance.now();
  const headers = {
    'content-type': 'application/json',
    'x-demo-user': `user-${user}`,
    'x-demo-organization': `org-${user % 10}`,
  };
  return new Promise((resolve, reject) => {
    const req = request(url, { method: 'POST', headers, agent }, (res) => {
      const head = (name: string, otherwise: string) => String(res.headers[name] ?? otherwise);
      res.resume().on('end', () => {
        const status = res.statusCode ?? 0;
        const outcome = head('spillway-outcome', status === 200 ? 'answered' : `error ${status}`);
        const model = head('spillway-model', status === 200 ? 'gpt-4o' : 'none');
        resolve({ status, outcome, model, ms: performance.now() - beganMs });
      });
    });
    req.on('error', reject).end(body);
  });
}

/** About a thousand tokens, different for each user. */
function questionOf(user: number): string {
  const sentence = 'We put the old plan by the new one, saw what was cut and why, and it is not yet clear who is to pay for it. ';
  return `Question ${user}: what would you do here? ${sentence.repeat(34)}`;
}
