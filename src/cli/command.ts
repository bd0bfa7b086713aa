import { parseArgs } from 'node:util';

/** What the command line asks for. */
export type Command =
  | { readonly kind: 'help' | 'version' }
  | { readonly kind: 'wrong'; readonly fault: string }
  | EstimateCommand;

export interface EstimateCommand {
  readonly kind: 'estimate';
  /** `-`: standard input. */
  readonly file: string;
  readonly model: string | undefined;
  readonly path: string | undefined;
  readonly json: boolean;
}

export const USAGE = `Usage: spillway estimate FILE [options]

Estimates the tokens of calls from their bodies, as a gate does before it admits them, and shows what
each message, tool, image and file takes. FILE holds one JSON body, or one body a line (JSONL; lines of
a batch, { "url", "body" }, too); - reads standard input. What the prompts say is never shown.

Options:
  --model NAME  estimate for this model, whatever the bodies name
  --path PATH   where the bodies are sent, like /v1/messages: tells formats apart, and names Gemini's model
  --json        print one JSON object for each body
  --help        print this
  --version     print the version

Exit status: 0 all bodies were read; 1 some were not, and standard error says where; 2 wrong usage.
`;

const OPTIONS = {
  model: { type: 'string' },
  path: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  version: { type: 'boolean', short: 'v', default: false },
} as const;

/** Reads the arguments behind the program's name. */
export function readCommand(args: readonly string[]): Command {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    return { kind: 'wrong', fault: (error as Error).message };
  }
  const { values, positionals } = parsed;
  if (values.help) return { kind: 'help' };
  if (values.version) return { kind: 'version' };
  const [name, file, ...others] = positionals;
  if (name === undefined) return { kind: 'wrong', fault: 'no command is given' };
  if (name !== 'estimate') return { kind: 'wrong', fault: `there is no command ${JSON.stringify(name)}` };
  if (file === undefined || file === '') return { kind: 'wrong', fault: 'no FILE is given' };
  if (others.length > 0) return { kind: 'wrong', fault: 'more than one FILE is given' };
  for (const option of ['model', 'path'] as const)
    if (values[option] === '') return { kind: 'wrong', fault: `--${option} is empty` };
  return { kind: 'estimate', file, model: values.model, path: values.path, json: values.json };
}

const parse = (args: readonly string[]) => parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
