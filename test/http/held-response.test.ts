import { describe, expect, it } from 'vitest';
import type { Rendered } from '../../src/call.js';
import type { TapHooks } from '../../src/http/response-tap.js';
import { begin, send } from '../support/http-client.js';
import { until } from '../support/loopback.js';
import { RENDERED, serveTapped as serve } from '../support/tapped.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a response that is held back', () => {
  /** Holds back what fails, until the test says what becomes of it. */
  function holding() {
    let find: (rendered: Rendered | undefined) => void = () => {};
    let declined = 0;
    const hooks: Partial<TapHooks> = {
      instead: (status) =>
        status < 400
          ? undefined
          : {
              found: new Promise((resolve) => {
                find = resolve;
              }),
              decline: () => void declined++,
            },
    };
    return { hooks, find: (rendered?: Rendered) => find(rendered), declined: () => declined };
  }

  it('waits for the handler to end before the other one goes out, and nobody hears its bytes', async () => {
    const { hooks, find } = holding();
    let end: () => void = () => {};
    const { url, log } = await serve((res) => {
      res.statusCode = 500;
      res.write('sor');
      end = () => res.end('ry');
    }, hooks);
    const reply = send(url);

    await until(() => log.asked.length > 0);
    find(RENDERED);
    await turn();
    end();

    expect(await reply).toMatchObject({ status: 203, text: 'ours' });
    await until(() => log.ends.length > 0);
    expect(log).toMatchObject({ bytes: '', ends: ['done 203'], asked: [500] });
  });

  it('goes out as it was when there is no other, with headers of the tap, and is heard', async () => {
    const { hooks, find } = holding();
    const { url, log } = await serve((res) => {
      res.setHeader('x-own', 'yes');
      res.statusCode = 500;
      res.write('sor');
      res.end('ry');
      res.statusCode = 418;
      res.setHeader('x-own', 'no');
    }, hooks);
    const reply = send(url);

    await until(() => log.asked.length > 0);
    find(undefined);

    expect(await reply).toMatchObject({ status: 500, text: 'sorry', headers: { 'x-own': 'yes', 'x-tapped': 'yes' } });
    await until(() => log.ends.length > 0);
    expect(log).toMatchObject({ bytes: 'sorry', ends: ['done 500'] });
  });

  it('declines the other one when it grows over 4 MiB, and passes from then on', async () => {
    const { hooks, find, declined } = holding();
    const piece = 'x'.repeat(1_048_576);
    const { url, log } = await serve((res) => {
      res.statusCode = 500;
      for (let sent = 0; sent < 5; sent++) res.write(piece);
      find(RENDERED);
      res.end('!');
    }, hooks);

    const reply = await send(url);

    expect({ status: reply.status, bytes: reply.body.length }).toEqual({ status: 500, bytes: 5 * piece.length + 1 });
    expect(declined()).toBe(1);
    expect(log.bytes.length).toBe(reply.body.length);
  });

  it('drops the connection, and not the process, when it turns out not to be writable', async () => {
    const { hooks, find } = holding();
    const { url, log } = await serve((res) => {
      res.writeHead(500, { 'x-bad': 'a\r\nb' });
      res.end('sorry');
    }, hooks);
    const reply = expect(send(url)).rejects.toThrow();

    await until(() => log.asked.length > 0);
    find(undefined);

    await reply;
    await until(() => log.ends.length > 0);
    expect(log.ends).toEqual(['left 0']);
  });

  it('calls the callbacks of a handler whose client left meanwhile', async () => {
    const { hooks, find } = holding();
    let hasEnded = false;
    const { url, log } = await serve(async (res) => {
      res.statusCode = 500;
      res.write('sor');
      await until(() => res.destroyed);
      find(RENDERED);
      await turn();
      await new Promise<void>((ended) => res.end('ry', () => ended()));
      hasEnded = true;
    }, hooks);
    const outgoing = begin(url);

    await until(() => log.asked.length > 0);
    outgoing.destroy();

    await until(() => hasEnded);
    expect(log).toMatchObject({ bytes: '', ends: ['left 0'] });
  });

  it('is followed by nothing when the client left meanwhile', async () => {
    const { hooks, find } = holding();
    const { url, log } = await serve((res) => {
      res.statusCode = 500;
      res.end('sorry');
    }, hooks);
    const outgoing = begin(url);

    await until(() => log.asked.length > 0);
    outgoing.destroy();
    await until(() => log.ends.length > 0);
    find(RENDERED);
    await turn();

    expect(log).toMatchObject({ bytes: '', ends: ['left 0'] });
  });
});
