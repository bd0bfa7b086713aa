import { type Fields, fieldsOf, listOf, textOf } from './values.js';

/** Where an item of the output has the text that a model wrote for a call, and what the events are called that stream it. */
interface CallText {
  readonly field: 'arguments' | 'input' | 'code';
  readonly event: string;
}

/** Items that call something, those that the provider carries out itself among them. */
export const CALLS: ReadonlyMap<unknown, CallText> = new Map([
  ['function_call', { field: 'arguments', event: 'response.function_call_arguments' }],
  ['custom_tool_call', { field: 'input', event: 'response.custom_tool_call_input' }],
  ['mcp_call', { field: 'arguments', event: 'response.mcp_call_arguments' }],
  ['code_interpreter_call', { field: 'code', event: 'response.code_interpreter_call_code' }],
]);

/** Parts of a message or of reasoning: where their text is, and what the events are called that stream it. */
export const PARTS: ReadonlyMap<unknown, { readonly field: 'text' | 'refusal'; readonly event: string }> = new Map([
  ['output_text', { field: 'text', event: 'response.output_text' }],
  ['refusal', { field: 'refusal', event: 'response.refusal' }],
  ['reasoning_text', { field: 'text', event: 'response.reasoning_text' }],
  ['summary_text', { field: 'text', event: 'response.reasoning_summary_text' }],
]);

/** Events that add to the output. What ends in `.done` says the same once more. */
export const DELTAS: ReadonlySet<unknown> = new Set([...CALLS.values(), ...PARTS.values()].map(({ event }) => `${event}.delta`));

/** Text of the parts of one type. */
export function partsText(parts: unknown, type: string): string {
  const field = PARTS.get(type)?.field ?? 'text';
  return listOf(parts)
    .map(fieldsOf)
    .map((part) => (part?.type === type ? textOf(part[field]) : ''))
    .join('');
}

/** Everything that a model wrote for an item. */
export function itemText(item: Fields | undefined): string {
  if (!item) return '';
  const call = CALLS.get(item.type);
  if (call) return textOf(item.name) + textOf(item[call.field]);
  return [...listOf(item.summary), ...listOf(item.content)].map(partText).join('');
}

function partText(value: unknown): string {
  const part = fieldsOf(value);
  const field = PARTS.get(part?.type)?.field;
  return part && field ? textOf(part[field]) : '';
}
