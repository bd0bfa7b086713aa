import { type Fields, fieldsOf, maximumOf, textOf } from '../dialects/values.js';

/** A tool that the provider runs itself while it answers, and what it adds to the input then. */
interface HostedTool {
  /** Beginning of its `type`; a date may follow. */
  readonly type: string;
  /** Tokens beside its settings. */
  readonly tokens: number | ((settings: Fields) => number);
}

const RESULT_TOKENS = 800;
const RESULTS = 20;
const MOST_RESULTS = 50;

/**
 * What is held for tools that the provider runs. None of it is in the body, and one question may take several searches: a figure
 * to hold until usage tells.
 *
 * OpenAI, pricing and file search guides of Mar 2026: a search of the web is billed as 8,000 tokens where it is a fixed block;
 * file search shows up to 20 passages of 800 tokens. Anthropic, tool guides of 2025 and 2026: bash 245, text editor 700, computer
 * 735; a question with a search of its web took 9,000 to 63,000 (recorded).
 */
const HOSTED: readonly HostedTool[] = [
  { type: 'web_search', tokens: 8_000 },
  { type: 'file_search', tokens: ({ max_num_results: most }) => RESULT_TOKENS * (maximumOf(most, MOST_RESULTS) ?? RESULTS) },
  { type: 'bash_', tokens: 245 },
  { type: 'text_editor_', tokens: 700 },
  { type: 'computer_', tokens: 735 },
];

/** Tokens that a tool of the provider adds to its settings; 0 for tools that the caller runs, and where nothing is documented. */
export function hostedToolTokens(tool: unknown): number {
  const settings = fieldsOf(tool);
  const type = textOf(settings?.type);
  const found = HOSTED.find((hosted) => type.startsWith(hosted.type));
  if (!settings || !found) return 0;
  return typeof found.tokens === 'number' ? found.tokens : found.tokens(settings);
}
