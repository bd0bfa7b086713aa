/** The parts of a chat completions body that the provider looks at; calls in other shapes are read into these words. */
export interface ChatBody {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly stream?: boolean | null;
  readonly stream_options?: { readonly include_usage?: boolean } | null;
  readonly max_tokens?: number | null;
  readonly max_completion_tokens?: number | null;
  readonly n?: number | null;
  readonly tools?: readonly { readonly function?: { readonly name?: string } }[];
  readonly [field: string]: unknown;
}

export interface ChatMessage {
  readonly role: string;
  readonly content?: string | null | readonly ChatPart[];
}

export interface ChatPart {
  readonly type: string;
  readonly text?: string;
}

export type Fields = Readonly<Record<string, unknown>>;

/** What an image costs the token limit, whatever its size. */
const IMAGE_TOKENS = 765;

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Content of a message in another shape: text, or parts of which those with text and the images matter. */
export function contentOf(value: unknown): string | ChatPart[] {
  if (typeof value === 'string') return value;
  return listOf(value)
    .filter(isFields)
    .map(({ type, text }) =>
      typeof text === 'string' ? { type: 'text', text } : { type: /image/.test(String(type)) ? 'image_url' : 'other' },
    );
}

/**
 * What a call charges to the token limit when it arrives: ceil(chars / 4) + messages + 1, images flat. Neither max_tokens
 * nor n nor tools count, as measured on OpenAI from March 2025 on.
 */
export function inputCharge(body: ChatBody): number {
  let chars = 0;
  let images = 0;
  for (const { content } of body.messages) {
    if (typeof content === 'string') chars += content.length;
    else if (Array.isArray(content))
      for (const part of content) {
        if (typeof part?.text === 'string') chars += part.text.length;
        else if (part?.type === 'image_url') images++;
      }
  }
  return Math.ceil(chars / 4) + body.messages.length + 1 + images * IMAGE_TOKENS;
}
