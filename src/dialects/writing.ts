/** Headers of an answer or an error as JSON. */
export const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' };
/** Headers of an answer as server-sent events, which nothing on the way may hold back or change. */
export const STREAM_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform' };

/** Length of the pieces that a replayed text comes in, in UTF-16 units. */
const PIECE = 240;

/** Cuts a text as a model would have sent it, never inside a surrogate pair; none of an empty text. */
export function pieces(text: string): string[] {
  const found: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + PIECE);
    const code = text.charCodeAt(end - 1);
    if (end < text.length && code >= 0xd800 && code < 0xdc00) end--;
    found.push(text.slice(start, end));
    start = end;
  }
  return found;
}
