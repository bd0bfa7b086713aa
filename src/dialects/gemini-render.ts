import type { Answer, Call, Rendered, Usage } from '../call.js';
import type { Complaint } from './dialect.js';
import { isPlain } from './gemini-fold.js';
import { type Fields, fieldsOf, listOf } from './values.js';
import { JSON_HEADERS, pieces, STREAM_HEADERS } from './writing.js';

/** Writes an answer as one response or as its chunks; see `Dialect.answer`. */
export function renderContent(answer: Answer, call: Call): Rendered {
  const status = answer.kind === 'deferred' ? 202 : 200;
  const spillway = { outcome: answer.kind };
  const body = fieldsOf(answer.body) ?? freshContent(answer, call.draft?.choices ?? 1);
  if (!call.stream) return { status, headers: JSON_HEADERS, body: JSON.stringify({ ...body, spillway }) };
  const chunks = chunksOf(body, call.draft?.wantsUsage ?? true);
  const written = chunks.map((chunk, at) => `data: ${JSON.stringify(at === 0 ? { ...chunk, spillway } : chunk)}\r\n\r\n`);
  return { status, headers: STREAM_HEADERS, body: written.join('') };
}

/** Writes an error as Google's APIs do; see `Dialect.error`. */
export function renderContentError(complaint: Complaint): Rendered {
  const { status, message } = complaint;
  const body = { error: { code: status, message, status: statusName(complaint) } };
  return { status, headers: JSON_HEADERS, body: JSON.stringify(body) };
}

/** Codes of `google.rpc.Code`. */
function statusName({ kind, status }: Complaint): string {
  switch (kind) {
    case 'full':
      return status >= 500 ? 'UNAVAILABLE' : 'RESOURCE_EXHAUSTED';
    case 'closed':
      return 'UNAVAILABLE';
    case 'blocked':
      return 'PERMISSION_DENIED';
    case 'unidentified':
      return 'UNAUTHENTICATED';
    case 'unknown-model':
      return 'NOT_FOUND';
    case 'never-fits':
    case 'bad-body':
      return 'INVALID_ARGUMENT';
    default:
      return kind satisfies never;
  }
}

/** The same text in each candidate. */
function freshContent({ kind, model, text, usage }: Answer, choices: number): Fields {
  return {
    candidates: Array.from({ length: choices }, (_, index) => ({
      content: { parts: [{ text }], role: 'model' },
      finishReason: 'STOP',
      index,
    })),
    usageMetadata: usageFields(usage),
    modelVersion: model,
    responseId: `spillway-${kind}-${crypto.randomUUID()}`,
  };
}

/** Thoughts are told apart from the answer, and what was cached is part of the prompt. */
function usageFields(usage: Usage | undefined): Fields {
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens, reasoningTokens } = usage ?? {};
  return {
    promptTokenCount: inputTokens,
    candidatesTokenCount: Math.max(0, outputTokens - (reasoningTokens ?? 0)),
    totalTokenCount: inputTokens + outputTokens,
    ...(cachedInputTokens === undefined ? {} : { cachedContentTokenCount: cachedInputTokens }),
    ...(reasoningTokens === undefined ? {} : { thoughtsTokenCount: reasoningTokens }),
  };
}

/** The whole sequence of a stream. Usage is told once, with its end. */
function chunksOf({ candidates, usageMetadata, ...about }: Fields, tellsUsage: boolean): Fields[] {
  const usage = tellsUsage && fieldsOf(usageMetadata) ? { usageMetadata } : {};
  const told = listOf(candidates).flatMap((candidate, at) => candidateChunks(fieldsOf(candidate) ?? {}, at));
  const chunks = told.length > 0 ? told.map((candidate) => ({ candidates: [candidate] })) : [{}];
  return chunks.map((chunk, at) => ({ ...chunk, ...(at === chunks.length - 1 ? usage : {}), ...about }));
}

/** What a candidate says beside its parts comes with its last one. */
function candidateChunks({ content, ...others }: Fields, at: number): Fields[] {
  const { parts, ...who } = fieldsOf(content) ?? {};
  const split = listOf(parts).flatMap((part) => splitPart(fieldsOf(part) ?? {}));
  const last = split.pop();
  const index = others.index ?? at;
  return [
    ...split.map((part) => ({ content: { parts: [part], ...who }, index })),
    { content: { ...(last ? { parts: [last] } : {}), ...who }, ...others, index },
  ];
}

/** Text comes piece by piece; what is signed or is none comes whole. */
function splitPart(part: Fields): Fields[] {
  return isPlain(part) && part.text !== '' ? pieces(part.text).map((text) => ({ ...part, text })) : [part];
}
