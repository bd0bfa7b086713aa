import type { Received } from './crowd.js';

/** One run of the crowd, in figures. */
export interface RunReport {
  readonly title: string;
  readonly received: readonly Received[];
  /** Calls that reached the provider, and those it refused with 429. */
  readonly providerCalls: number;
  readonly provider429: number;
  /** Share of the first model's limit (headroom taken off) that settled usage took in the run; `undefined` without a gate. */
  readonly usedRatio: number | undefined;
}

/** Prints runs side by side. */
export function printReports(reports: readonly RunReport[]): void {
  const rows: [string, (report: RunReport) => string][] = [
    ['requests', ({ received }) => String(received.length)],
    ['  answered (no error)', ({ received }) => share(received, ({ status }) => status === 200)],
    ['  429 or 5xx', ({ received }) => share(received, ({ status }) => status !== 200)],
    ['  all 3 calls by a model', ({ received }) => share(received, byModel)],
    ...outcomesOf(reports).map((outcome): [string, (report: RunReport) => string] => [
      `  outcome ${outcome}`,
      ({ received }) => share(received, (one) => one.outcome === outcome),
    ]),
    ...modelsOf(reports).map((model): [string, (report: RunReport) => string] => [
      `  answered by ${model}`,
      ({ received }) => share(received, (one) => one.status === 200 && one.model === model),
    ]),
    ['provider calls', ({ providerCalls }) => String(providerCalls)],
    [
      'provider 429s',
      ({ provider429, providerCalls }) => `${provider429} (${percent(provider429 / Math.max(1, providerCalls))})`,
    ],
    ['time to answer, median', ({ received }) => seconds(quantile(received, 0.5))],
    ['time to answer, slowest', ({ received }) => seconds(quantile(received, 1))],
    ['gpt-4o budget used', ({ usedRatio }) => (usedRatio === undefined ? '-' : percent(usedRatio))],
  ];
  const width = 27;
  console.log(`\n${''.padEnd(width)}${reports.map(({ title }) => title.padStart(22)).join('')}`);
  for (const [label, cell] of rows)
    console.log(`${label.padEnd(width)}${reports.map((report) => cell(report).padStart(22)).join('')}`);
}

const byModel = ({ status, outcome }: Received): boolean =>
  status === 200 && ['answered', 'passed', 'queued', 'cheaper', 'shorter'].includes(outcome);

function outcomesOf(reports: readonly RunReport[]): string[] {
  return [...new Set(reports.flatMap(({ received }) => received.map(({ outcome }) => outcome)))]
    .filter((outcome) => outcome !== 'answered')
    .sort();
}

function modelsOf(reports: readonly RunReport[]): string[] {
  return [
    ...new Set(reports.flatMap(({ received }) => received.filter(({ status }) => status === 200).map(({ model }) => model))),
  ].sort();
}

function share(received: readonly Received[], is: (one: Received) => boolean): string {
  const count = received.filter(is).length;
  return `${count} (${percent(count / received.length)})`;
}

function quantile(received: readonly Received[], q: number): number {
  const sorted = received.map(({ ms }) => ms).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

const percent = (ratio: number): string => `${(ratio * 100).toFixed(1)} %`;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
