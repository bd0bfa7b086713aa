import { checkShape } from '../json-shape.js';

/** A body of a file, or why there is none where one should be. */
export type FoundBody =
  | { readonly line: number; readonly body: unknown }
  | { readonly line: number; readonly fault: string; readonly mend: string };

/** Longest body that is read, in bytes: more than any provider takes. */
const MOST_BYTES = 67_108_864;
const NEWLINE = 0x0a;

/**
 * Finds bodies in the bytes of a file: one a line, or one over many lines, which is so when the first line with anything on it is no
 * JSON by itself and the file goes on. Holds no more than one body at a time. Faults never say what the text says.
 */
export async function* bodiesOf(bytes: AsyncIterable<Uint8Array>, mostBytes = MOST_BYTES): AsyncGenerator<FoundBody> {
  let document: Held | undefined;
  for await (const line of linesOf(bytes, mostBytes)) {
    if (document) {
      document.add(line.bytes);
      continue;
    }
    const text = line.bytes && textOf(line.bytes);
    if (line.bytes && text !== undefined && line.isFirst && opens(text)) document = new Held(line.number, line.bytes, mostBytes);
    else if (text !== '') yield found(text, line.number, mostBytes);
  }
  if (document) yield found(document.text(), document.number, mostBytes);
}

/** Chunks that are kept apart: lines may be short and many. */
const MOST_CHUNKS = 1_024;

/** A body over many lines, as far as it was read. */
class Held {
  #whole: Uint8Array[] = [];
  #chunks: Uint8Array[];
  #left: number;

  constructor(
    readonly number: number,
    bytes: readonly Uint8Array[],
    mostBytes: number,
  ) {
    this.#chunks = [...bytes];
    this.#left = mostBytes - lengthOf(bytes);
  }

  add(bytes: readonly Uint8Array[] | undefined): void {
    this.#left -= bytes ? lengthOf(bytes) + 1 : Infinity;
    if (this.#left < 0) this.#whole = [];
    else this.#chunks.push(NEW_LINE, ...(bytes ?? []));
    if (this.#left >= 0 && this.#chunks.length < MOST_CHUNKS) return;
    if (this.#left >= 0) this.#whole.push(Buffer.concat(this.#chunks));
    this.#chunks = [];
  }

  text(): string | undefined {
    return this.#left < 0 ? undefined : textOf([...this.#whole, ...this.#chunks]);
  }
}

const NEW_LINE = Uint8Array.of(NEWLINE);
const lengthOf = (chunks: readonly Uint8Array[]): number => chunks.reduce((sum, { length }) => sum + length, 0);

interface Line {
  readonly number: number;
  /** Whether nothing but blank lines came before. */
  readonly isFirst: boolean;
  /** `undefined`: there were too many. */
  readonly bytes: readonly Uint8Array[] | undefined;
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>, mostBytes: number): AsyncGenerator<Line> {
  let number = 1;
  let isFirst = true;
  let held: Uint8Array[] | undefined = [];
  let length = 0;

  function hold(part: Uint8Array): void {
    length += part.length;
    if (length > mostBytes) held = undefined;
    else held?.push(part);
  }

  for await (const chunk of bytes) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      hold(chunk.subarray(start, end));
      yield { number, isFirst, bytes: held };
      isFirst &&= held !== undefined && textOf(held) === '';
      number++;
      held = [];
      length = 0;
      start = end + 1;
    }
    if (start < chunk.length) hold(chunk.subarray(start));
  }
  if (length > 0) yield { number, isFirst, bytes: held };
}

/** Without blanks around it and a mark of the byte order, which count for nothing. */
function textOf(bytes: readonly Uint8Array[]): string {
  return Buffer.concat(bytes)
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trim();
}

/** Whether what a line begins goes on behind it. */
function opens(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const unit = text[at];
    if (isInString) {
      if (unit === '\\') at++;
      else if (unit === '"') isInString = false;
    } else if (unit === '"') isInString = true;
    else if (unit === '{' || unit === '[') depth++;
    else if (unit === '}' || unit === ']') depth--;
  }
  return depth > 0 && !isInString;
}

function found(text: string | undefined, line: number, mostBytes: number): FoundBody {
  if (text !== undefined) return parsed(text, line);
  return { line, fault: `is longer than ${mostBytes} bytes`, mend: 'leave out what the call does not need' };
}

function parsed(text: string, line: number): FoundBody {
  try {
    checkShape(text);
  } catch (error) {
    const [fault = '', mend = ''] = (error as Error).message.replace(/^the body /, '').split('; ');
    return { line, fault, mend };
  }
  try {
    return { line, body: JSON.parse(text) };
  } catch (error) {
    return { line: line + lineWithin(text, error), fault: 'is no JSON', mend: 'give one body, or one on each line' };
  }
}

/** Where engines say that JSON ends, for their messages also quote what is there. */
function lineWithin(text: string, error: unknown): number {
  const position = / position (\d+)/.exec((error as Error).message)?.[1];
  if (position === undefined) return 0;
  return text.slice(0, Number(position)).split('\n').length - 1;
}
