import { fieldsOf } from '../dialects/values.js';
import { SpillwayError } from '../errors.js';
import { type EstimateTokensOptions, readForEstimate } from '../tokens/estimate-tokens.js';
import { bodiesOf, type FoundBody } from './bodies.js';
import { type EstimateCommand, readCommand, USAGE } from './command.js';
import { itemize } from './itemize.js';
import { jsonReport, type Reported, type Totals, textReport, totalsReport } from './report.js';

/** What a command line stands on. */
export interface Surroundings {
  readonly version: string;
  /** The bytes of a file, `-` for standard input; reading them fails where there is none. */
  open(file: string): AsyncIterable<Uint8Array>;
  /** Resolves when it is written; `false`: nobody reads on. */
  print(text: string): Promise<boolean>;
  complain(text: string): void;
}

/** Does what arguments ask for. @returns the exit status: 0 done; 1 some body was not read; 2 wrong usage */
export async function runCommand(args: readonly string[], around: Surroundings): Promise<0 | 1 | 2> {
  const command = readCommand(args);
  switch (command.kind) {
    case 'help':
      await around.print(USAGE);
      return 0;
    case 'version':
      await around.print(`${around.version}\n`);
      return 0;
    case 'wrong':
      around.complain(`spillway: ${command.fault}; see spillway --help\n`);
      return 2;
    case 'estimate':
      return estimateFile(command, around);
    default:
      return command satisfies never;
  }
}

async function estimateFile(command: EstimateCommand, around: Surroundings): Promise<0 | 1 | 2> {
  const { file, json } = command;
  const shown = file === '-' ? 'stdin' : file;
  const totals: Totals = { bodies: 0, inputTokens: 0, heldInputTokens: 0, outputTokens: 0 };
  let faults = 0;
  try {
    for await (const found of bodiesOf(around.open(file))) {
      const result = await estimated(found, command);
      if ('fault' in result) {
        faults++;
        around.complain(`${shown}:${result.line}: ${result.fault}; ${result.mend}\n`);
        continue;
      }
      addTo(totals, result);
      if (!(await around.print(json ? jsonReport(result) : textReport(result, shown)))) return faults > 0 ? 1 : 0;
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === undefined || SpillwayError.is(error)) throw error;
    around.complain(`spillway: ${shown} cannot be read (${code}); give a file with bodies, or - for standard input\n`);
    return 2;
  }
  if (totals.bodies === 0 && faults === 0) {
    around.complain(`${shown}:1: there is no body; give one as JSON, or one on each line\n`);
    return 1;
  }
  if (!json && totals.bodies > 1) await around.print(totalsReport(totals));
  return faults > 0 ? 1 : 0;
}

type Fault = Extract<FoundBody, { fault: string }>;

async function estimated(found: FoundBody, command: EstimateCommand): Promise<Reported | Fault> {
  if ('fault' in found) return found;
  const { line } = found;
  const { body, options } = ofBatch(found.body, command);
  try {
    const read = await readForEstimate(body, options);
    return { line, estimate: read.estimate(read.draft), parts: itemize(read) };
  } catch (error) {
    if (!SpillwayError.is(error)) throw error;
    const mend = 'name its model with --model and where it is sent with --path, if the body does not tell';
    return { line, fault: 'is no body of a call that is known', mend };
  }
}

/** A line of a batch names where its body is sent; the command line wins. */
function ofBatch(
  given: unknown,
  { model, path }: EstimateCommand,
): { readonly body: unknown; readonly options: EstimateTokensOptions } {
  const line = fieldsOf(given);
  const isBatch = fieldsOf(line?.body) !== undefined && typeof line?.url === 'string';
  const sentTo = path ?? (isBatch ? (line.url as string) : undefined);
  const options = { ...(model === undefined ? {} : { model }), ...(sentTo === undefined ? {} : { path: sentTo }) };
  return { body: isBatch ? line.body : given, options };
}

function addTo(totals: Totals, { estimate }: Reported): void {
  totals.bodies++;
  totals.inputTokens += estimate.inputTokens;
  totals.heldInputTokens += estimate.heldInputTokens;
  totals.outputTokens += estimate.outputTokens;
}
