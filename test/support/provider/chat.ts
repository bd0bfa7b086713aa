import type { ChatBody, ChatMessage, Fields } from './body.js';
import { openai } from './openai.js';
import type { Choice } from './plan.js';
import { type Answer, type AnswerStream, badRequest, belowLeast, missing, type Shape, type Trouble } from './shape.js';

const MOST_CHOICES = 128;

/** OpenAI's chat completions. */
export const chatCompletions: Shape = {
  ...openai,
  path: '/v1/chat/completions',
  idPrefix: 'chatcmpl-',
  garbageUsage: { prompt_tokens: -5, completion_tokens: 'many', total_tokens: null },
  objection,
  chat: (body) => body as ChatBody,
  usage: (inputTokens, outputTokens) => ({
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
  }),
  json: (answer) => ({
    id: answer.id,
    object: 'chat.completion',
    created: answer.created,
    model: answer.model,
    choices: answer.plan.choices.map((choice, index) => ({
      index,
      message: messageOf(answer, choice, index),
      logprobs: null,
      finish_reason: choice.finish,
    })),
    ...(answer.usage === undefined ? {} : { usage: answer.usage }),
    service_tier: 'default',
    system_fingerprint: 'fp_standin',
  }),
  stream,
};

/** Checks a body as far as OpenAI refuses one with 400. */
function objection(body: Fields): Trouble | undefined {
  const { model, messages, max_tokens, max_completion_tokens, n } = body;
  if (typeof model !== 'string') return missing('model');
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isMessage))
    return badRequest('messages must be a list of at least one message.', 'messages', 'invalid_type');
  const trouble = belowLeast({ max_tokens, max_completion_tokens, n });
  if (trouble) return trouble;
  if (n != null && (n as number) > MOST_CHOICES)
    return badRequest(`n must be at most ${MOST_CHOICES}.`, 'n', 'integer_above_max_value');
  return undefined;
}

function isMessage(value: unknown): value is ChatMessage {
  return typeof value === 'object' && value !== null && typeof (value as ChatMessage).role === 'string';
}

/** Where include_usage asks, every chunk carries `usage: null`, and one more at the end the figures. */
function stream(answer: Answer): AnswerStream {
  const { plan, body, usage } = answer;
  const withUsage = body.stream_options?.include_usage === true && usage !== undefined;
  const chunk = (choices: readonly object[], told: unknown) =>
    event({
      id: answer.id,
      object: 'chat.completion.chunk',
      created: answer.created,
      model: answer.model,
      service_tier: 'default',
      system_fingerprint: 'fp_standin',
      choices,
      ...(withUsage ? { usage: told } : {}),
    });

  return {
    produced(from, to) {
      const chunks: string[] = [];
      const add = (index: number, delta: object, finish: string | null = null) =>
        chunks.push(chunk([{ index, delta, logprobs: null, finish_reason: finish }], null));
      plan.choices.forEach((choice, index) => {
        const { tool, pieces, finish } = choice;
        if (from === 0)
          add(index, tool ? { role: 'assistant', content: null } : { role: 'assistant', content: '', refusal: null });
        if (from === 0 && tool) add(index, { tool_calls: [{ index: 0, ...toolCall(answer, tool, index, '') }] });
        const text = pieces.slice(from, to).join('');
        if (text) add(index, tool ? { tool_calls: [{ index: 0, function: { arguments: text } }] } : { content: text });
        if (from < pieces.length && to >= pieces.length) add(index, {}, finish);
      });
      return chunks;
    },
    ended: () => [...(withUsage ? [chunk([], usage)] : []), event('[DONE]')],
  };
}

function event(data: object | string): string {
  return `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

function messageOf(answer: Answer, { tool, pieces }: Choice, index: number): object {
  const text = pieces.join('');
  const message = { role: 'assistant', content: tool ? null : text, refusal: null };
  return tool ? { ...message, tool_calls: [toolCall(answer, tool, index, text)] } : message;
}

function toolCall({ id }: Answer, name: string, index: number, args: string): object {
  return { id: id.replace('chatcmpl-', `call_${index}_`), type: 'function', function: { name, arguments: args } };
}
