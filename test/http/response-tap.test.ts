import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { begin, dial, send } from '../support/http-client.js';
import { until } from '../support/loopback.js';
import { RENDERED, serveTapped as serve } from '../support/tapped.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the tap of a response', () => {
  it('adds its headers, hears the bytes and tells the end once, with the status', async () => {
    const { url, log, watchers } = await serve(async (res) => {
      res.statusCode = 201;
      res.setHeader('content-type', 'text/plain');
      res.write('one ');
      await turn();
      res.write(Buffer.from('two '));
      res.end('three');
    });

    const reply = await send(url);
    await until(() => log.ends.length > 0);
    await turn();

    expect({ status: reply.status, text: reply.text, ours: reply.headers['x-tapped'] }).toEqual({
      status: 201,
      text: 'one two three',
      ours: 'yes',
    });
    expect(log).toMatchObject({ bytes: 'one two three', ends: ['done 201'] });
    expect(log.heads[0]).toEqual({ contentType: 'text/plain', contentEncoding: '' });
    expect(watchers.size).toBe(0);
  });

  it('hears nothing after the end, and nothing of a head', async () => {
    const { url, log } = await serve((res) => {
      res.on('error', () => {});
      res.writeHead(200);
      res.end('once');
      res.write('and again');
      res.end('and again');
    });

    await send(url);

    expect(log.bytes).toBe('once');
  });

  it('tells the head that the handler meant, whether it was set or given', async () => {
    const { url, log } = await serve((res) => {
      res.setHeader('Content-Type', 'text/plain');
      res.setHeader('Content-Encoding', 'br');
      res.writeHead(200, ['content-type', 'text/html', 'x', 'y']);
      res.end('x');
    });

    await send(url);

    expect(log.heads).toEqual([{ contentType: 'text/html', contentEncoding: 'br' }]);
  });

  it('tells no status when the client left before there was a head', async () => {
    const { url, log, responses } = await serve(() => {});

    const outgoing = begin(url);
    await until(() => responses.length === 1);
    outgoing.destroy();
    await until(() => log.ends.length > 0);

    expect(log.ends).toEqual(['left 0']);
  });

  it('tells the status when the client left after the head', async () => {
    const { url, log } = await serve((res) => res.writeHead(206).write('x'));

    const outgoing = begin(url);
    await once(outgoing, 'response');
    outgoing.destroy();
    await until(() => log.ends.length > 0);

    expect(log.ends).toEqual(['left 206']);
  });

  it('finds by looking what no event told', async () => {
    const { url, log, look, responses, watchers } = await serve((res) => {
      res.removeAllListeners();
      res.write('x');
    });
    const outgoing = begin(url);
    await once(outgoing, 'response');
    look();
    expect(log.ends).toEqual([]);

    outgoing.destroy();
    await until(() => responses[0]?.destroyed === true);
    look();
    look();

    expect(log.ends).toEqual(['left 200']);
    expect(watchers.size).toBe(0);
  });

  it('cuts a client off that takes nothing for as long as a stall lasts, and not before', async () => {
    const { url, log, look, clock, responses } = await serve((res) => res.end(Buffer.alloc(32 * 1_048_576)));
    const socket = await dial(url);
    socket.pause().write('GET / HTTP/1.1\r\nhost: loopback\r\n\r\n');
    await until(() => (responses[0]?.socket?.writableLength ?? 0) > 0);

    look();
    await clock.advance(999);
    look();
    expect(log.ends).toEqual([]);
    await clock.advance(1);
    look();

    expect(log.ends).toEqual(['stalled 200']);
    expect(responses[0]?.destroyed).toBe(true);
    socket.destroy();
  });

  it('does not take a handler that writes nothing for a client that takes nothing', async () => {
    const { url, log, look, clock } = await serve((res) => res.writeHead(200).write('x'));
    const outgoing = begin(url);
    await once(outgoing, 'response');

    for (let looks = 0; looks < 5; looks++) {
      look();
      await clock.advance(1_000);
    }

    expect(log.ends).toEqual([]);
    outgoing.destroy();
  });

  it('asks again for a head that could not be written', async () => {
    const { url, log } = await serve((res) => {
      expect(() => res.writeHead(200, { 'x-bad': '\n' })).toThrow();
      res.writeHead(500).end('sorry');
    });

    const reply = await send(url);

    expect({ status: reply.status, text: reply.text }).toEqual({ status: 500, text: 'sorry' });
    expect(log.asked.at(0)).toBe(200);
    expect(log.asked.at(-1)).toBe(500);
  });
});

describe('a response written in the place of the handler', () => {
  it('has its own status, headers and length, and keeps what others set for the caller', async () => {
    const { url, log } = await serve((res, tap) => {
      res.statusCode = 500;
      res.statusMessage = 'Oh';
      for (const name of ['ETag', 'Content-Encoding', 'Retry-After', 'X-Should-Retry']) res.setHeader(name, '7');
      res.setHeader('content-length', 99);
      res.setHeader('set-cookie', ['a=1', 'b=2']);
      tap.write(RENDERED);
    });

    const reply = await send(url);
    await until(() => log.ends.length > 0);

    expect({ status: reply.status, message: reply.message, text: reply.text }).toEqual({
      status: 203,
      message: 'Non-Authoritative Information',
      text: 'ours',
    });
    expect(reply.headers).toMatchObject({ 'x-ours': 'yes', 'content-length': '4', 'set-cookie': ['a=1', 'b=2'] });
    for (const name of ['etag', 'content-encoding', 'retry-after', 'x-should-retry'])
      expect(reply.headers).not.toHaveProperty(name);
    expect(log).toMatchObject({ bytes: '', ends: ['done 203'], asked: [] });
  });

  it('is not written when a head was sent', async () => {
    const { url, log } = await serve((res, tap) => {
      res.writeHead(200).write('theirs');
      tap.write(RENDERED);
      res.end();
    });

    const reply = await send(url);

    expect({ status: reply.status, text: reply.text }).toEqual({ status: 200, text: 'theirs' });
    expect(log.bytes).toBe('theirs');
  });

  it('is not written when the client has left', async () => {
    const { url, log } = await serve((res, tap) => {
      res.once('close', () => tap.write(RENDERED));
      res.destroy();
    });

    await expect(send(url)).rejects.toThrow();
    await until(() => log.ends.length > 0);

    expect(log.ends).toEqual(['left 0']);
  });
});
