import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Answer, Call, Usage } from '../../src/call.js';
import type { Complaint, CompleteAnswer, Dialect, Draft, StreamEvent } from '../../src/dialects/dialect.js';
import { createSseReader } from '../../src/dialects/sse.js';
import { anyJson, DEEP, HOSTILE, JUNK, spoiled } from './hostile.js';

/** What the suite needs to know about a wire format. */
export interface DialectSamples {
  /** Bodies of the format, and what must be read from each. Where there are streams, at least one of them asks for one. */
  readonly bodies: readonly { readonly body: Record<string, unknown>; readonly path?: string; readonly draft: Partial<Draft> }[];
  /** Bodies and paths of other formats. */
  readonly foreign: readonly { readonly body: unknown; readonly path?: string }[];
  /** JSON answers. `complete`: whole and successful, so that it may be kept; `text` is then what it says to people. */
  readonly answers: readonly { readonly body: unknown; readonly usage?: Usage; readonly complete?: { readonly text: string } }[];
  /** Streams as they come over the wire, to be judged in the same way. */
  readonly streams: readonly { readonly wire: string; readonly usage?: Usage; readonly complete?: { readonly text: string } }[];
}

export interface DialectSuite {
  readonly dialect: Dialect;
  readonly samples: DialectSamples;
  /** `false`: nothing is generated, so that there are no streams, and no text can be an answer. @defaultValue true */
  readonly generates?: boolean;
}

const KINDS = ['cached', 'stale', 'static', 'deferred'] as const;
const COMPLAINTS: readonly Complaint[] = [
  { status: 429, kind: 'full', dimension: 'tokens', message: 'Too many tokens.' },
  { status: 429, kind: 'full', dimension: 'requests', message: 'Too many requests.' },
  { status: 402, kind: 'full', dimension: 'usd', message: 'The budget of this month is spent.' },
  { status: 429, kind: 'full', dimension: 'concurrent', message: 'Too many at once.' },
  { status: 413, kind: 'never-fits', dimension: 'tokens', message: 'Larger than any limit.' },
  { status: 403, kind: 'blocked', dimension: 'requests', message: 'The limit is 0.' },
  { status: 503, kind: 'closed', message: 'Not now.' },
  { status: 401, kind: 'unidentified', message: 'Who are you?' },
  { status: 400, kind: 'unknown-model', message: 'No such model "x"\n\u2028.' },
  { status: 400, kind: 'bad-body', message: 'Not readable.' },
];

/** Everything that any wire format must do, whoever wrote it. */
export function dialectConformance(name: string, { dialect, samples, generates = true }: DialectSuite): void {
  const modes = generates ? [false, true] : [false];

  describe(`${name}, a dialect`, () => {
    describe('reading', () => {
      it.each(samples.bodies)('reads what a body asks for (body %#)', ({ body, path, draft }) => {
        expect(dialect.read(body, path)).toMatchObject(draft);
      });

      it.each(samples.foreign)('leaves a body of another format alone ($path)', ({ body, path }) => {
        expect(dialect.read(body, path)).toBeUndefined();
      });

      it.each(Object.keys(HOSTILE))('never throws on a body that is, or has somewhere, %s', (kind) => {
        const value = HOSTILE[kind as keyof typeof HOSTILE];
        expectSound(dialect.read(value), generates);
        for (const { body, path } of samples.bodies)
          for (const bad of spoiled(body, value)) expectSound(dialect.read(bad, path), generates);
      });

      it('reads nothing unsound from any body', () => {
        fc.assert(
          fc.property(fc.constantFrom(...samples.bodies), fc.nat(), anyJson, ({ body, path }, place, value) => {
            const variants = spoiled(body, value);
            expectSound(dialect.read(variants[place % variants.length], path), generates);
          }),
        );
      });

      it('takes time in proportion to the body', () => {
        const { body, path } = samples.bodies[0] as (typeof samples.bodies)[number];
        const startMs = performance.now();

        for (const value of Object.values(DEEP).flatMap((nested) => spoiled(body, nested))) dialect.read(value, path);
        for (const value of spoiled(
          body,
          Array.from({ length: 20_000 }, () => ({ role: 'user', content: 'x' })),
        ))
          dialect.read(value, path);

        expect(performance.now() - startMs).toBeLessThan(2_000);
      });
    });

    describe('rewriting', () => {
      it.each(samples.bodies)('changes a copy, and in it only what it was told to (body %#)', ({ body, path }) => {
        const frozen = deepFreeze(structuredClone({ ...body, unknownField: { kept: ['as', 'it', 'is'] } }));

        const changed = dialect.rewrite(frozen, { model: 'other-model', maximumOutputTokens: 7 });

        const before = dialect.read(frozen, path);
        const after = dialect.read(changed, path === undefined ? path : (dialect.rewritePath?.(path, 'other-model') ?? path));
        expect(after).toEqual({
          ...before,
          model: 'other-model',
          maximumOutputTokens: Math.min(7, before?.maximumOutputTokens ?? 7),
        });
        expect(changed).toHaveProperty('unknownField', { kept: ['as', 'it', 'is'] });
      });

      it.each(samples.bodies)('lowers a declared maximum and never raises it (body %#)', ({ body, path }) => {
        const declared = dialect.read(body, path)?.maximumOutputTokens;

        const changed = dialect.read(dialect.rewrite(body, { maximumOutputTokens: 1_000_000 }), path);

        expect(changed?.maximumOutputTokens).toBe(declared ?? 1_000_000);
      });

      it.each(samples.bodies)('asks for usage in a stream and nowhere else (body %#)', ({ body, path }) => {
        const draft = dialect.read(body, path);

        const changed = dialect.rewrite(body, { includeUsage: true });

        if (draft?.stream) expect(dialect.read(changed, path)?.wantsUsage).toBe(true);
        else expect(changed).toEqual(body);
      });

      it('gives an equal body back when there is nothing to change', () => {
        for (const { body } of samples.bodies) expect(dialect.rewrite(body, {})).toEqual(body);
      });

      it('never throws, whatever the body', () => {
        for (const body of Object.values(HOSTILE))
          dialect.rewrite(body, { model: 'm', maximumOutputTokens: 5, includeUsage: true });
      });

      it('keeps a field named __proto__ a field', () => {
        for (const { body } of samples.bodies) {
          const hostile = { ...body, ...JSON.parse('{"x":0}') };
          Object.defineProperty(hostile, '__proto__', {
            value: { polluted: true },
            enumerable: true,
            configurable: true,
            writable: true,
          });

          const changed = dialect.rewrite(hostile, { model: 'm', maximumOutputTokens: 5 }) as object;

          expect(Object.getPrototypeOf(changed)).toBe(Object.prototype);
          expect((changed as { polluted?: unknown }).polluted).toBeUndefined();
        }
      });
    });

    describe('looking at answers', () => {
      it.each(samples.answers)('finds the usage of a JSON answer (case %#)', ({ body, usage }) => {
        expectUsage(dialect.usage(body), usage);
      });

      it.each(samples.streams)('finds the usage of a stream (case %#)', ({ wire, usage }) => {
        const found = eventsOf(wire).map(({ data }) => dialect.usage(data));

        expectUsage(
          found.findLast((value) => value !== undefined),
          usage,
        );
      });

      it.each(samples.answers)('keeps a JSON answer only when it is complete (case %#)', ({ body, complete }) => {
        expectComplete(dialect, dialect.collect({ body }), complete);
      });

      it.each(samples.streams)('keeps a stream only when it is complete (case %#)', ({ wire, complete }) => {
        expectComplete(dialect, dialect.collect({ events: eventsOf(wire) }), complete);
      });

      it('sees as much text in the events of a stream as in the answer that they make', () => {
        for (const { wire } of samples.streams) {
          const events = eventsOf(wire);
          const whole = dialect.collect({ events });
          if (!whole) continue;

          const inEvents = events.map(({ data }) => dialect.text(data)).join('');
          expect([...inEvents].sort()).toEqual([...dialect.text(whole.body)].sort());
        }
      });

      it('never throws on an answer or an event, and reports only sound figures', () => {
        fc.assert(
          fc.property(anyJson, (value) => {
            const event: StreamEvent = { event: undefined, data: value, text: '' };

            for (const figure of Object.values({ ...dialect.usage(value), model: undefined }))
              if (figure !== undefined) expect(isCount(figure)).toBe(true);
            expect(typeof dialect.text(value)).toBe('string');
            expect(typeof dialect.isUsageOnly(event)).toBe('boolean');
            dialect.collect({ body: value });
            dialect.collect({ events: [event, event] });
          }),
        );
      });

      it('keeps no answer that could not be written again', () => {
        for (const { body } of samples.answers)
          for (const value of Object.values(DEEP))
            expect(dialect.collect({ body: { ...(body as object), unknownField: value } })).toBeUndefined();
      });

      it('keeps nothing of a stream that has no events', () => {
        expect(dialect.collect({ events: [] })).toBeUndefined();
      });
    });

    describe('answering in the place of a model', () => {
      const text = `One line.\n\n  Two "lines" with ü, 你好 and 😀.${'😀 many words '.repeat(200)}`;

      for (const kind of generates ? KINDS : []) {
        it(`writes a ${kind} answer as JSON that reads back`, () => {
          const { headers, body } = dialect.answer({ kind, model: 'answer-model', text }, callOf(dialect, samples, false));

          expect(headers['content-type']).toMatch(/^application\/json\b/);
          expect(dialect.collect({ body: JSON.parse(body) })).toMatchObject({ text, model: 'answer-model' });
          expect(JSON.parse(body)).toHaveProperty('spillway', { outcome: kind });
        });

        it(`writes a ${kind} answer as a stream that reads back`, () => {
          const rendered = dialect.answer({ kind, model: 'answer-model', text }, callOf(dialect, samples, true));
          const events = eventsOf(rendered.body);

          expect(rendered.headers['content-type']).toMatch(/^text\/event-stream\b/);
          expect(dialect.collect({ events })).toMatchObject({ text, model: 'answer-model' });
          expect(events.map(({ data }) => (data as { spillway?: object } | undefined)?.spillway)).toContainEqual({
            outcome: kind,
          });
        });
      }

      if (!generates) {
        it('declares that nothing is generated, and gives a text as an error', () => {
          const call = callOf(dialect, samples, false);

          const { status, body } = dialect.answer({ kind: 'static', model: 'm', text }, call);

          expect(call.draft).toMatchObject({ maximumOutputTokens: 0, hasFormat: true });
          expect(status).toBeGreaterThanOrEqual(400);
          expect(stringsIn(body)).toContain(text);
        });
      } else {
        it('tells of usage in a stream only when the caller asked for it', () => {
          const answer: Answer = { kind: 'static', model: 'm', text, usage: { inputTokens: 5, outputTokens: 6 } };
          const usageOf = (call: Call): unknown[] =>
            eventsOf(dialect.answer(answer, call).body).flatMap(({ data }) => dialect.usage(data) ?? []);

          const silent = usageOf(callOf(dialect, samples, true, { wantsUsage: false }));
          const asked = usageOf(callOf(dialect, samples, true, { wantsUsage: true }));

          expect(silent).toEqual([]);
          expect(asked).toMatchObject([{ inputTokens: 5, outputTokens: 6 }]);
        });
      }

      it.each([...samples.answers.keys()])('replays a kept answer in either mode (case %i)', (index) => {
        const { body } = samples.answers[index] as (typeof samples.answers)[number];
        const kept = dialect.collect({ body });
        if (!kept) return;
        const answer: Answer = { kind: 'cached', model: kept.model ?? 'm', text: kept.text, body: kept.body };

        const json = dialect.collect({ body: JSON.parse(dialect.answer(answer, callOf(dialect, samples, false)).body) });
        expect(json).toMatchObject({ text: kept.text, hasToolCalls: kept.hasToolCalls, usage: kept.usage });
        if (!generates) return;

        const events = eventsOf(dialect.answer(answer, callOf(dialect, samples, true, { wantsUsage: true })).body);
        expect(dialect.collect({ events })).toMatchObject({ text: kept.text, hasToolCalls: kept.hasToolCalls });
        expect([...dialect.text(dialect.collect({ events })?.body)].sort()).toEqual([...dialect.text(kept.body)].sort());
      });

      it('never throws on the body of a kept answer', () => {
        for (const body of Object.values(JUNK))
          for (const stream of modes)
            dialect.answer({ kind: 'cached', model: 'm', text: 'x', body }, callOf(dialect, samples, stream));
      });
    });

    describe('refusing', () => {
      it.each(COMPLAINTS)('writes $kind $dimension as JSON with status $status, in either mode', (complaint) => {
        for (const call of [undefined, ...modes.map((stream) => callOf(dialect, samples, stream))]) {
          const rendered = dialect.error(complaint, call);

          expect(rendered.status).toBe(complaint.status);
          expect(rendered.headers['content-type']).toMatch(/^application\/json\b/);
          expect(stringsIn(rendered.body)).toContain(complaint.message);
        }
      });

      it('sets no header that tells a wait', () => {
        const names = COMPLAINTS.flatMap((complaint) => Object.keys(dialect.error(complaint, undefined).headers));

        expect(names.filter((header) => /retry|limit|spillway/.test(header))).toEqual([]);
      });
    });
  });
}

/** A call whose body asks for nothing but, it may be, a stream. */
function callOf(dialect: Dialect, { bodies }: DialectSamples, stream: boolean, change: Partial<Draft> = {}): Call {
  const draft = bodies.map(({ body, path }) => dialect.read(body, path)).find((found) => found?.stream === stream);
  if (!draft) throw new Error(`give the samples a body with stream: ${stream}`);
  return {
    visit: {} as Call['visit'],
    dialect,
    draft: { ...draft, choices: 1, wantsUsage: false, ...change },
    body: {},
    stream,
    requestedModel: draft.model,
    model: draft.model,
    inputTokens: 1,
    heldInputTokens: 1,
    expectedOutputTokens: 1,
    maximumOutputTokens: undefined,
    callsPerRequest: 1,
  };
}

function eventsOf(wire: string): StreamEvent[] {
  const events: StreamEvent[] = [];
  const reader = createSseReader((event) => events.push(event));
  reader.push(wire);
  reader.flush();
  return events;
}

function expectSound(draft: Draft | undefined, generates: boolean): void {
  if (!draft) return;
  expect(draft.model.length).toBeGreaterThan(0);
  expect(draft.model.length).toBeLessThanOrEqual(256);
  expect(isCount(draft.choices) && draft.choices >= 1 && draft.choices <= 262_144).toBe(true);
  const { maximumOutputTokens } = draft;
  if (!generates) expect(maximumOutputTokens).toBe(0);
  else if (maximumOutputTokens !== undefined)
    expect(isCount(maximumOutputTokens) && maximumOutputTokens >= 1 && maximumOutputTokens <= 10_000_000).toBe(true);
  expect([draft.stream, draft.wantsUsage, draft.hasTools, draft.hasFormat].every((flag) => typeof flag === 'boolean')).toBe(true);
  for (const { parts, name } of draft.sections) {
    expect(name === undefined || typeof name === 'string').toBe(true);
    for (const part of parts) {
      if (part.kind === 'text') expect(typeof part.text).toBe('string');
      if (part.kind === 'tool-call') expect([typeof part.name, typeof part.arguments]).toEqual(['string', 'string']);
      if (part.kind === 'image') expect(typeof part.url).toBe('string');
      if (part.kind === 'tokens') expect(isCount(part.count)).toBe(true);
      if (part.kind === 'file') expect(isCount(part.base64Length)).toBe(true);
    }
  }
}

function expectUsage(found: Usage | undefined, wanted: Usage | undefined): void {
  if (wanted) expect(found).toMatchObject(wanted);
  else expect(found).toBeUndefined();
}

function expectComplete(dialect: Dialect, found: CompleteAnswer | undefined, wanted: { text: string } | undefined): void {
  if (!wanted) {
    expect(found).toBeUndefined();
    return;
  }
  expect(found).toMatchObject(wanted);
  expect(dialect.collect({ body: found?.body })).toEqual(found);
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

/** Every text anywhere in the JSON of a response, for each dialect puts its message elsewhere. */
function stringsIn(body: string): string[] {
  const found: string[] = [];
  JSON.parse(body, (_, value: unknown) => {
    if (typeof value === 'string') found.push(value);
    return value;
  });
  return found;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const member of Object.values(Object.freeze(value))) deepFreeze(member);
  return value;
}
