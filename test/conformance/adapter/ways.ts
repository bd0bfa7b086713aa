import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { completion, events } from '../../support/chat.js';
import type { Turn } from './app.js';

export const JSON_TYPE = 'application/json';
const STREAM_TYPE = 'text/event-stream; charset=utf-8';
export const body = completion({ text: 'Über die Mauer. 🌊' });
export const text = JSON.stringify(body);
export const stream = events({ text: 'Over the wall, and down the valley.' });

/** Every way in which a handler may write one and the same answer. */
export const WAYS: Readonly<Record<string, (turn: Turn) => void | Promise<void>>> = {
  'the framework as JSON': (turn) => turn.json(body),
  'the framework as text': (turn) => {
    turn.setHeader('content-type', JSON_TYPE);
    turn.send(text);
  },
  'the framework as bytes': (turn) => {
    turn.setHeader('content-type', JSON_TYPE);
    turn.send(Buffer.from(text));
  },
  'setHeader and end': ({ res }) => {
    res.setHeader('content-type', JSON_TYPE);
    res.end(text);
  },
  'write and end': ({ res }) => {
    res.setHeader('content-type', JSON_TYPE);
    res.write(text.slice(0, 40));
    res.write(Buffer.from(text.slice(40, 80)));
    res.end(text.slice(80));
  },
  'write with an encoding': ({ res }) => {
    res.setHeader('content-type', JSON_TYPE);
    res.write(Buffer.from(text).toString('base64'), 'base64');
    res.end();
  },
  'end with an encoding': ({ res }) => {
    res.setHeader('content-type', JSON_TYPE);
    res.end(Buffer.from(text).toString('hex'), 'hex');
  },
  'an array of bytes': ({ res }) => {
    res.setHeader('content-type', JSON_TYPE);
    res.end(new Uint8Array(Buffer.from(text)));
  },
  'writeHead with an object': ({ res }) => {
    res.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': Buffer.byteLength(text) });
    res.end(text);
  },
  'writeHead with a message and an object': ({ res }) => {
    res.writeHead(200, 'Fine', { 'Content-Type': JSON_TYPE });
    res.end(text);
  },
  'writeHead with a list': ({ res }) => {
    res.writeHead(200, ['Content-Type', JSON_TYPE, 'X-Own', 'a', 'X-Own', 'b']);
    res.end(text);
  },
  'writeHead after setHeader': ({ res }) => {
    res.setHeader('content-type', 'text/plain');
    res.writeHead(200, { 'content-type': JSON_TYPE });
    res.end(text);
  },
  'writeHead without headers': ({ res }) => {
    res.setHeader('content-type', JSON_TYPE);
    res.writeHead(200);
    res.end(text);
  },
  'writeHead that is chained': ({ res }) => {
    res.writeHead(200, { 'content-type': JSON_TYPE }).end(text);
  },
  'flushHeaders first': async ({ res }) => {
    res.setHeader('content-type', JSON_TYPE);
    res.flushHeaders();
    await new Promise((resolve) => setImmediate(resolve));
    res.end(text);
  },
  'a pipe': ({ res }) => {
    res.setHeader('content-type', JSON_TYPE);
    Readable.from([text.slice(0, 50), text.slice(50)]).pipe(res);
  },
  'a pipeline': async ({ res }) => {
    res.setHeader('content-type', JSON_TYPE);
    await pipeline(Readable.from([Buffer.from(text)]), new PassThrough(), res);
  },
  'one end after another': ({ res }) => {
    res.setHeader('content-type', JSON_TYPE);
    res.end(text);
    res.on('error', () => {}).end(text);
  },
  'cork and uncork': ({ res }) => {
    res.setHeader('content-type', JSON_TYPE);
    res.cork();
    res.write(text.slice(0, 30));
    res.write(text.slice(30));
    res.uncork();
    res.end();
  },
  'events, one by one': async ({ res }) => {
    res.writeHead(200, { 'content-type': STREAM_TYPE });
    for (const event of stream) {
      res.write(event);
      await new Promise((resolve) => setImmediate(resolve));
    }
    res.end();
  },
  'events, cut anywhere': ({ res }) => {
    res.writeHead(200, { 'content-type': STREAM_TYPE });
    for (const piece of stream.join('').match(/[\s\S]{1,7}/g) ?? []) res.write(piece);
    res.end();
  },
};
