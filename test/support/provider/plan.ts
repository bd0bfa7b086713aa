import type { ChatBody } from './body.js';

/** Everything a model will say to one call, as the tokens it emits. */
export interface Plan {
  readonly choices: readonly Choice[];
  /** Tokens of the longest choice: choices are generated side by side. */
  readonly length: number;
}

export interface Choice {
  /** Name of the tool whose arguments the pieces are; `undefined` when they are text. */
  readonly tool: string | undefined;
  readonly pieces: readonly string[];
  readonly finish: 'stop' | 'length' | 'tool_calls';
}

// Plain short words: each is one token in OpenAI's vocabularies too, so that counting the text comes close to the usage.
const FILLER =
  ' A full river needs a way around the dam, so that the town below stays dry and the rest of the water can be used later.';
const MOST_OUTPUT_TOKENS = 100_000;

/** Decides the whole answer from the body alone, so that the same call is always answered alike. */
export function planAnswer(body: ChatBody, outputTokens: number): Plan {
  const wanted = Math.min(MOST_OUTPUT_TOKENS, Math.max(1, Math.floor(outputTokens)));
  const maximum = Math.min(body.max_tokens ?? MOST_OUTPUT_TOKENS, body.max_completion_tokens ?? MOST_OUTPUT_TOKENS);
  const asked = lastUserText(body);
  const tool = toolAskedFor(body, asked);

  const choices = Array.from({ length: body.n ?? 1 }, (_, index): Choice => {
    const all = tool
      ? piecesOf(JSON.stringify({ input: asked.slice(0, 80) }))
      : fill(piecesOf(`${index > 0 ? `(${index + 1}) ` : ''}This is ${body.model} on "${topicOf(asked)}".`), wanted);
    const pieces = all.slice(0, maximum);
    return { tool, pieces, finish: pieces.length < all.length ? 'length' : tool ? 'tool_calls' : 'stop' };
  });
  return { choices, length: Math.max(...choices.map((choice) => choice.pieces.length)) };
}

/** Tokens emitted, all choices together. */
export function outputTokensOf(plan: Plan): number {
  return plan.choices.reduce((sum, choice) => sum + choice.pieces.length, 0);
}

/** The choice of an answer in a shape that has but one. */
export function onlyChoice({ plan }: { readonly plan: Plan }): Choice {
  return plan.choices[0] as Choice;
}

/** The tool that the last message asks for, when it is a user's and the call offers that tool. */
function toolAskedFor(body: ChatBody, asked: string): string | undefined {
  if (body.messages.at(-1)?.role !== 'user') return undefined;
  const name = /\bcall tool ([\w-]{1,64})/i.exec(asked)?.[1];
  return name !== undefined && body.tools?.some((tool) => tool.function?.name === name) ? name : undefined;
}

function lastUserText(body: ChatBody): string {
  const content = body.messages.findLast((message) => message.role === 'user')?.content ?? '';
  return typeof content === 'string' ? content : content.map((part) => part.text ?? '').join(' ');
}

function topicOf(asked: string): string {
  const words = asked.slice(0, 200).split(/\s+/).filter(Boolean).slice(0, 6);
  return words.map((word) => word.slice(0, 24)).join(' ') || 'nothing';
}

function fill(opening: readonly string[], length: number): string[] {
  const filler = piecesOf(FILLER);
  return Array.from({ length }, (_, at) => opening[at] ?? (filler[(at - opening.length) % filler.length] as string));
}

function piecesOf(text: string): string[] {
  return text.match(/\s*[\p{L}\p{N}]{1,8}|\s*[^\s\p{L}\p{N}]|\s+/gu) ?? [];
}
