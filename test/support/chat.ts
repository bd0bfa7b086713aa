/** A chat body for a model, small unless told otherwise. */
export function chat(fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { model: 'gpt-4o', messages: [{ role: 'user', content: 'Where does the water go?' }], ...fields };
}

export interface Said {
  readonly text?: string;
  readonly model?: string;
  readonly input?: number;
  readonly output?: number;
}

/** A completion that reports its usage: 20 and 7 tokens unless told otherwise. */
export function completion({ text = 'Over the wall.', model = 'gpt-4o', input = 20, output = 7 }: Said = {}) {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  };
}

/** The same as a stream: one event for each word, then usage, then the end. */
export function events({ text = 'Over the wall.', model = 'gpt-4o', input = 20, output = 7 }: Said = {}): string[] {
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model };
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  return [
    ...text.split(/(?<= )/).map((content) => ({ ...head, choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { ...head, choices: [], usage },
  ]
    .map((event) => `data: ${JSON.stringify(event)}\n\n`)
    .concat('data: [DONE]\n\n');
}

/** The words of a stream of chat events. */
export function spokenIn(stream: string): string {
  return stream
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)).choices[0]?.delta.content ?? '')
    .join('');
}
