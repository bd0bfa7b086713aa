import type { StreamEvent } from './dialect.js';
import { type Fields, fieldsOf, listOf, textOf } from './values.js';

/** Blocks whose input comes as pieces of JSON: calls of tools, whoever runs them. */
export const CALLS = new Set<unknown>(['tool_use', 'server_tool_use', 'mcp_tool_use']);

/** A message as far as its events have told it. */
interface Folded {
  readonly head: Fields;
  readonly blocks: Fields[];
  open: OpenBlock | undefined;
  end: Fields | undefined;
  usage: Fields;
}

interface OpenBlock {
  readonly block: Fields;
  readonly citations: unknown[];
  /** Its text, its thinking, or the JSON of its input. */
  said: string;
  signature: string;
}

/**
 * Puts the events of a stream together to the message they tell. `undefined` when the stream reports an error, breaks off, or says
 * what is not put together here.
 */
export function foldEvents(events: readonly StreamEvent[]): Fields | undefined {
  let folded: Folded | undefined;
  for (const { data } of events) {
    const event = fieldsOf(data) ?? {};
    switch (event.type) {
      case 'error':
        return undefined;
      case 'message_start': {
        const head = fieldsOf(event.message);
        if (folded || !head || listOf(head.content).length > 0) return undefined;
        folded = { head, blocks: [], open: undefined, end: undefined, usage: fieldsOf(head.usage) ?? {} };
        break;
      }
      case 'message_stop':
        return folded?.end && !folded.open ? written(folded, folded.end) : undefined;
      default:
        if (folded ? !foldEvent(folded, event) : isNeeded(event.type)) return undefined;
    }
  }
  return undefined;
}

/** Events of other names may come at any time, and mean nothing to who does not know them. */
const isNeeded = (type: unknown): boolean => /^(?:content_block|message)_/.test(textOf(type));

function written({ head, blocks, usage }: Folded, end: Fields): Fields {
  const { stop_reason = null, stop_sequence = null, container } = end;
  const contained = container === undefined || container === null ? {} : { container };
  return { ...head, content: blocks, stop_reason, stop_sequence, ...contained, usage };
}

/** @returns whether the event could be put in its place */
function foldEvent(folded: Folded, event: Fields): boolean {
  switch (event.type) {
    case 'content_block_start': {
      const block = fieldsOf(event.content_block);
      if (!block || folded.open || event.index !== folded.blocks.length) return false;
      folded.open = openBlock(block);
      return true;
    }
    case 'content_block_delta':
      return folded.open !== undefined && event.index === folded.blocks.length && foldDelta(folded.open, fieldsOf(event.delta));
    case 'content_block_stop': {
      const block = folded.open && event.index === folded.blocks.length ? closedBlock(folded.open) : undefined;
      if (!block) return false;
      folded.blocks.push(block);
      folded.open = undefined;
      return true;
    }
    case 'message_delta':
      folded.end = withNewer(folded.end, fieldsOf(event.delta));
      folded.usage = withNewer(folded.usage, fieldsOf(event.usage));
      return true;
    default:
      return true;
  }
}

/** The last word counts, and the last figures are those of the whole message; what they do not repeat stays. */
function withNewer(before: Fields | undefined, next: Fields | undefined): Fields {
  const said = Object.entries(next ?? {}).filter(([, value]) => value !== undefined && value !== null);
  return { ...before, ...Object.fromEntries(said) };
}

function openBlock(block: Fields): OpenBlock {
  const said = block.type === 'text' ? textOf(block.text) : block.type === 'thinking' ? textOf(block.thinking) : '';
  return { block, citations: [...listOf(block.citations)], said, signature: textOf(block.signature) };
}

function foldDelta(open: OpenBlock, delta: Fields | undefined): boolean {
  const { type } = open.block;
  if (delta?.type === 'text_delta' && type === 'text') open.said += textOf(delta.text);
  else if (delta?.type === 'citations_delta' && type === 'text') open.citations.push(delta.citation);
  else if (delta?.type === 'thinking_delta' && type === 'thinking') open.said += textOf(delta.thinking);
  else if (delta?.type === 'signature_delta' && type === 'thinking') open.signature = textOf(delta.signature);
  else if (delta?.type === 'input_json_delta' && CALLS.has(type)) open.said += textOf(delta.partial_json);
  else return false;
  return true;
}

function closedBlock({ block, said, citations, signature }: OpenBlock): Fields | undefined {
  if (block.type === 'text') return { ...block, text: said, ...(citations.length > 0 ? { citations } : {}) };
  if (block.type === 'thinking') return { ...block, thinking: said, signature };
  if (!CALLS.has(block.type) || said === '') return block;
  const input = parseInput(said);
  return input && { ...block, input };
}

function parseInput(json: string): Fields | undefined {
  try {
    return fieldsOf(JSON.parse(json));
  } catch {
    return undefined;
  }
}
