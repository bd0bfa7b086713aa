import { type ChatBody, type ChatMessage, contentOf, type Fields, isFields, listOf } from './body.js';
import { openai } from './openai.js';
import { onlyChoice } from './plan.js';
import {
  type Answer,
  type AnswerStream,
  badRequest,
  belowLeast,
  missing,
  namedEvent,
  type Shape,
  type Trouble,
} from './shape.js';

const LEAST_OUTPUT_TOKENS = 16;

/** OpenAI's Responses. */
export const responses: Shape = {
  ...openai,
  path: '/v1/responses',
  idPrefix: 'resp_',
  garbageUsage: { input_tokens: -5, output_tokens: 'many', total_tokens: null },
  objection,
  chat,
  usage: (inputTokens, outputTokens) => ({
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  }),
  json: ended,
  stream,
};

function objection({ model, input, max_output_tokens }: Fields): Trouble | undefined {
  if (typeof model !== 'string') return missing('model');
  if (typeof input !== 'string' && !(Array.isArray(input) && input.length > 0 && input.every(isFields)))
    return badRequest('input must be text or a list of at least one item.', 'input', 'invalid_type');
  return belowLeast({ max_output_tokens }, LEAST_OUTPUT_TOKENS);
}

function chat(body: Fields): ChatBody {
  const { model, input, instructions, stream, max_output_tokens } = body;
  const asked = typeof input === 'string' ? [{ role: 'user', content: input }] : listOf(input).filter(isFields).map(messageOf);
  const told = typeof instructions === 'string' ? [{ role: 'system', content: instructions }] : [];
  return {
    model: model as string,
    messages: [...told, ...asked],
    stream: stream === true,
    max_completion_tokens: max_output_tokens as number | null,
    tools: listOf(body.tools)
      .filter(isFields)
      .map(({ name }) => ({ function: { name: String(name) } })),
  };
}

function messageOf({ type, role, content, output }: Fields): ChatMessage {
  if (type === 'function_call_output') return { role: 'tool', content: contentOf(output) };
  return { role: typeof role === 'string' ? role : 'assistant', content: contentOf(content) };
}

function ended(answer: Answer): Fields {
  const { finish } = onlyChoice(answer);
  return {
    ...begun(answer),
    status: statusOf(answer),
    incomplete_details: finish === 'length' ? { reason: 'max_output_tokens' } : null,
    output: [itemOf(answer)],
    usage: answer.usage,
  };
}

function stream(answer: Answer): AnswerStream {
  const { tool, pieces, finish } = onlyChoice(answer);
  const item_id = itemId(answer);
  let sequence_number = 0;
  const event = (type: string, fields: Fields) => namedEvent({ type, sequence_number: sequence_number++, ...fields });
  const inItem = { item_id, output_index: 0 };
  const inPart = { ...inItem, content_index: 0 };
  const text = pieces.join('');

  function opening(): string[] {
    const response = begun(answer);
    const events = [
      event('response.created', { response }),
      event('response.in_progress', { response }),
      event('response.output_item.added', { output_index: 0, item: emptyItem(answer) }),
    ];
    return tool ? events : [...events, event('response.content_part.added', { ...inPart, part: partOf('') })];
  }
  function closing(): string[] {
    const done = tool
      ? [event('response.function_call_arguments.done', { ...inItem, arguments: text })]
      : [
          event('response.output_text.done', { ...inPart, text, logprobs: [] }),
          event('response.content_part.done', { ...inPart, part: partOf(text) }),
        ];
    return [...done, event('response.output_item.done', { output_index: 0, item: itemOf(answer) })];
  }

  return {
    produced(from, to) {
      const begins = from === 0 ? opening() : [];
      const delta = pieces.slice(from, to).join('');
      const said = tool
        ? event('response.function_call_arguments.delta', { ...inItem, delta })
        : event('response.output_text.delta', { ...inPart, delta, logprobs: [] });
      return [...begins, said, ...(to >= pieces.length ? closing() : [])];
    },
    ended: () => [event(finish === 'length' ? 'response.incomplete' : 'response.completed', { response: ended(answer) })],
  };
}

function begun({ id, created, model, body }: Answer): Fields {
  return {
    id,
    object: 'response',
    created_at: created,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: body.max_completion_tokens ?? null,
    metadata: {},
    model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    service_tier: 'default',
    store: true,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    usage: null,
    user: null,
  };
}

function itemOf(answer: Answer): Fields {
  const { tool, pieces } = onlyChoice(answer);
  const text = pieces.join('');
  const filled = tool ? { arguments: text } : { content: [partOf(text)] };
  return { ...emptyItem(answer), status: statusOf(answer), ...filled };
}

function emptyItem(answer: Answer): Fields {
  const { tool } = onlyChoice(answer);
  const id = itemId(answer);
  const status = 'in_progress';
  return tool
    ? { id, type: 'function_call', status, arguments: '', call_id: answer.id.replace('resp_', 'call_'), name: tool }
    : { id, type: 'message', status, content: [], role: 'assistant' };
}

function itemId(answer: Answer): string {
  return answer.id.replace('resp_', onlyChoice(answer).tool ? 'fc_' : 'msg_');
}

function statusOf(answer: Answer): string {
  return onlyChoice(answer).finish === 'length' ? 'incomplete' : 'completed';
}

const partOf = (text: string) => ({ type: 'output_text', annotations: [], logprobs: [], text });
