/** What OpenAI's models take around calls and definitions of tools, and around formats. All figures in tokens. */
export interface ToolFigures {
  /** With definitions of functions: where somebody instructs the model, and where nobody does. */
  readonly tools: number;
  readonly toolsAlone: number;
  /** With the schema of an answer: where somebody instructs the model, where nobody does, and beside functions. */
  readonly format: number;
  readonly formatAlone: number;
  readonly formatBesideTools: number;
  /** Of a message: its only call, and of several calls `calls` and `eachCall` for every one. */
  readonly onlyCall: number;
  readonly calls: number;
  readonly eachCall: number;
  /** Of the word that one function must be called, beside its name; `undefined`: nothing, not even the name. */
  readonly choice: number | undefined;
  /** Whether what the system says ends with a line break once there are functions. */
  readonly endsLine: boolean;
}

/**
 * By API, and by how a family is told of tools. Fitted to recorded usage of Mar 2023 to Aug 2026, and in keeping with the format
 * that is published for gpt-oss ("harmony", Aug 2025): there a call is a message of its own with a recipient and a channel.
 */
export const TOOL_FIGURES: Readonly<Record<'chat' | 'responses', Readonly<Record<'first' | 'channels', ToolFigures>>>> = {
  chat: {
    first: {
      tools: 5,
      toolsAlone: 9,
      format: 11,
      formatAlone: 14,
      formatBesideTools: 8,
      onlyCall: 7,
      calls: 23,
      eachCall: 3,
      choice: 7,
      endsLine: true,
    },
    channels: {
      tools: 90,
      toolsAlone: 91,
      format: 11,
      formatAlone: 14,
      formatBesideTools: 8,
      onlyCall: 11,
      calls: -3,
      eachCall: 14,
      choice: undefined,
      endsLine: true,
    },
  },
  responses: {
    first: {
      tools: 3,
      toolsAlone: 3,
      format: 7,
      formatAlone: 7,
      formatBesideTools: 7,
      onlyCall: 8,
      calls: 0,
      eachCall: 8,
      choice: 7,
      endsLine: false,
    },
    channels: {
      tools: 9,
      toolsAlone: 9,
      format: 6,
      formatAlone: 6,
      formatBesideTools: 6,
      onlyCall: 14,
      calls: 0,
      eachCall: 14,
      choice: undefined,
      endsLine: false,
    },
  },
};

/** What every definition of a tool with free input takes beside its text: its grammar is explained (two recordings of 2025). */
export const CUSTOM_TOOL_TOKENS = 110;
