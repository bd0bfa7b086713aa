import type { StreamEvent } from './dialect.js';
import { type Fields, fieldsOf, listOf } from './values.js';

/** Candidates of one stream that are put together. */
const MOST_CANDIDATES = 128;

/** A candidate as far as its chunks have told it. */
interface Folded {
  about: Fields;
  role: unknown;
  readonly parts: Fields[];
}

/**
 * Puts the chunks of a stream together to the answer they tell. `undefined` when one of them is an error, or says what is not put
 * together here. What chunks say beside their parts is what the last one of them said.
 */
export function foldContent(events: readonly StreamEvent[]): Fields | undefined {
  let about: Fields = {};
  const folded = new Map<number, Folded>();
  for (const { data } of events) {
    const chunk = fieldsOf(data);
    if (!chunk || chunk.error) return undefined;
    const { candidates, ...others } = chunk;
    about = { ...about, ...others };
    for (const value of listOf(candidates)) {
      const candidate = fieldsOf(value);
      const { index = 0 } = candidate ?? {};
      if (!candidate || !isIndex(index)) return undefined;
      folded.set(index, withMore(folded.get(index), candidate));
    }
  }
  if (folded.size === 0) return undefined;
  const ordered = [...folded].sort(([one], [other]) => one - other);
  return { candidates: ordered.map(([, candidate]) => written(candidate)), ...about };
}

const isIndex = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < MOST_CANDIDATES;

function withMore(before: Folded | undefined, candidate: Fields): Folded {
  const folded = before ?? { about: {}, role: undefined, parts: [] };
  const { content, ...about } = candidate;
  const fields = fieldsOf(content);
  folded.about = { ...folded.about, ...about };
  folded.role ??= fields?.role;
  for (const part of listOf(fields?.parts)) add(folded.parts, fieldsOf(part) ?? {});
  return folded;
}

/** Pieces of one text are one part, but for those that carry something of their own. */
function add(parts: Fields[], part: Fields): void {
  const last = parts[parts.length - 1];
  if (last && isPlain(last) && isPlain(part) && last.thought === part.thought)
    parts[parts.length - 1] = { ...last, text: `${last.text}${part.text}` };
  else parts.push(part);
}

/** Whether a part is text, or thought, and nothing else. */
export function isPlain(part: Fields): part is { readonly text: string; readonly thought?: unknown } {
  return typeof part.text === 'string' && Object.keys(part).every((name) => name === 'text' || name === 'thought');
}

function written({ about, role, parts }: Folded): Fields {
  return { content: { parts, ...(role === undefined ? {} : { role }) }, ...about };
}
