import { either } from './gemini-parts.js';
import { fieldsOf } from './values.js';

/** What is only counted at a path, and where it would be sent to be answered. */
const COUNTING: readonly (readonly [path: RegExp, answering: string])[] = [
  [/:countTokens(?=\/?(?:[?#]|$))/, ':generateContent'],
  [/\/messages\/count_tokens(?=\/?(?:[?#]|$))/, '/messages'],
  [/\/responses\/input_tokens(?=\/?(?:[?#]|$))/, '/responses'],
];

/** The call that a provider is asked to count: what else a body asks for stays as it is. */
export function countedCall(
  body: unknown,
  path: string | undefined,
): { readonly body: unknown; readonly path: string | undefined } {
  const request = fieldsOf(either(fieldsOf(body), 'generateContentRequest', 'generate_content_request'));
  const found = path === undefined ? undefined : COUNTING.find(([counting]) => counting.test(path));
  return { body: request ?? body, path: found ? path?.replace(found[0], found[1]) : path };
}
