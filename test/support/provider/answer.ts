import type { ChatBody } from './wire.js';

/** Everything a model will say to one call, as the tokens it emits. */
export interface Plan {
  readonly choices: readonly Choice[];
  /** Tokens of the longest choice: choices are generated side by side. */
  readonly length: number;
}

interface Choice {
  /** Name of the tool whose arguments the pieces are; `undefined` when they are text. */
  readonly tool: string | undefined;
  readonly pieces: readonly string[];
  readonly finish: 'stop' | 'length' | 'tool_calls';
}

export interface AnswerHead {
  readonly id: string;
  readonly created: number;
  readonly model: string;
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

/** Usage as it is reported: what was emitted, all choices together. */
export function usageOf(plan: Plan, inputTokens: number): object {
  const outputTokens = plan.choices.reduce((sum, choice) => sum + choice.pieces.length, 0);
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

/** The answer in its JSON form. */
export function completion(head: AnswerHead, plan: Plan, usage: unknown): Record<string, unknown> {
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: plan.choices.map((choice, index) => ({
      index,
      message: messageOf(head, choice, index),
      logprobs: null,
      finish_reason: choice.finish,
    })),
    ...(usage === undefined ? {} : { usage }),
    service_tier: 'default',
    system_fingerprint: 'fp_standin',
  };
}

/**
 * The chunks of a stream for the tokens from `from` to before `to`; the role chunks come with the first and the finish
 * chunks with the last tokens.
 * @param withUsage - every chunk carries `usage: null`, as OpenAI does when include_usage is on
 */
export function chunksOf(head: AnswerHead, plan: Plan, from: number, to: number, withUsage: boolean): Record<string, unknown>[] {
  const chunks: Record<string, unknown>[] = [];
  const add = (index: number, delta: object, finish: string | null = null) =>
    chunks.push(chunk(head, [{ index, delta, logprobs: null, finish_reason: finish }], withUsage ? null : undefined));

  plan.choices.forEach((choice, index) => {
    if (from === 0)
      add(index, choice.tool ? { role: 'assistant', content: null } : { role: 'assistant', content: '', refusal: null });
    if (from === 0 && choice.tool) add(index, { tool_calls: [{ index: 0, ...toolCall(head, choice.tool, index, '') }] });
    const text = choice.pieces.slice(from, to).join('');
    if (text) add(index, choice.tool ? { tool_calls: [{ index: 0, function: { arguments: text } }] } : { content: text });
    if (from < choice.pieces.length && to >= choice.pieces.length) add(index, {}, choice.finish);
  });
  return chunks;
}

/** The extra chunk at the end of a stream that include_usage asks for. */
export function usageChunk(head: AnswerHead, usage: unknown): Record<string, unknown> {
  return chunk(head, [], usage);
}

function chunk(head: AnswerHead, choices: readonly object[], usage: unknown): Record<string, unknown> {
  return {
    id: head.id,
    object: 'chat.completion.chunk',
    created: head.created,
    model: head.model,
    service_tier: 'default',
    system_fingerprint: 'fp_standin',
    choices,
    ...(usage === undefined ? {} : { usage }),
  };
}

function messageOf(head: AnswerHead, choice: Choice, index: number): object {
  const text = choice.pieces.join('');
  const message = { role: 'assistant', content: choice.tool ? null : text, refusal: null };
  return choice.tool ? { ...message, tool_calls: [toolCall(head, choice.tool, index, text)] } : message;
}

function toolCall(head: AnswerHead, name: string, index: number, args: string): object {
  return { id: head.id.replace('chatcmpl-', `call_${index}_`), type: 'function', function: { name, arguments: args } };
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
