import type { Kind } from './recordings.js';
import type { Fed } from './server.js';

/** Kinds whose size the body does not tell: the most that they may take is charged, which may be far too much. */
const UNKNOWABLE: ReadonlySet<Kind> = new Set(['files', 'remote images']);
/** Share of the other bodies that may be charged far too much. */
const MOST_FAR_OVER = 0.02;
/** Most bodies that are named for one reason. */
const MOST_NAMED = 20;

const COLUMNS: readonly (readonly [title: string, of: (group: readonly Fed[]) => string])[] = [
  ['bodies', (group) => String(group.length)],
  ['crashed', (group) => countOf(group, isCrashed)],
  ['refused', (group) => countOf(group, isRefused)],
  ['free', (group) => countOf(group, isFree)],
  ['median ratio', (group) => median(group.map(ratioOf)).toFixed(2)],
  ['within 10 %', (group) => share(group, isNear)],
  ['over 3x+100', (group) => share(group, isFarOver)],
  ['over the hold', (group) => share(group, isOverHold)],
];

const isCrashed = ({ status }: Fed): boolean => status === 0 || status >= 500;
const isRefused = ({ status }: Fed): boolean => status >= 300 && status < 500;
const isAnswered = ({ status }: Fed): boolean => status >= 200 && status < 300;
const isFree = (fed: Fed): boolean => isAnswered(fed) && fed.charged <= 0;
const ratioOf = ({ charged, recording }: Fed): number => charged / recording.reported;
const isNear = (fed: Fed): boolean => Math.abs(ratioOf(fed) - 1) <= 0.1;
const isFarOver = ({ charged, recording }: Fed): boolean => charged > 3 * recording.reported + 100;
const isOverHold = ({ held, recording }: Fed): boolean => recording.reported > held;

/** A table by api and kind, the bodies that stand out by name, and whether all is as it should be. */
export function report(fed: readonly Fed[]): { readonly text: string; readonly isFine: boolean } {
  const groups = new Map<string, Fed[]>();
  for (const each of fed) {
    const name = `${each.recording.api}, ${each.recording.kind}`;
    groups.set(name, [...(groups.get(name) ?? []), each]);
  }
  const knowable = fed.filter(({ recording }) => !UNKNOWABLE.has(recording.kind));
  const farOver = knowable.filter(isFarOver);
  const isTooMuch = farOver.length > MOST_FAR_OVER * knowable.length;
  const rows: [string, readonly Fed[]][] = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  rows.push(['all but files and remote images', knowable], ['all', fed]);

  const text = [
    ...table(rows),
    '',
    'ratio: charged / reported. over 3x+100: charged more than 3 x reported + 100. over the hold: more reported than was held.',
    ...named('crashed', fed.filter(isCrashed)),
    ...named('refused', fed.filter(isRefused)),
    ...named('free', fed.filter(isFree)),
    ...named('charged over 3 x reported + 100', farOver),
    ...(isTooMuch ? [`\nMore than ${MOST_FAR_OVER * 100} % were charged over 3 x reported + 100.`] : []),
  ].join('\n');
  return { text, isFine: !fed.some(isCrashed) && !fed.some(isFree) && !isTooMuch };
}

function table(rows: readonly (readonly [string, readonly Fed[]])[]): string[] {
  const cells = [
    ['', ...COLUMNS.map(([title]) => title)],
    ...rows.map(([name, group]) => [name, ...COLUMNS.map(([, of]) => of(group))]),
  ];
  const widths = (cells[0] as string[]).map((_, column) => Math.max(...cells.map((row) => (row[column] as string).length)));
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column] as number) : cell.padStart(widths[column] as number);
  return cells.map((row) => row.map(pad).join('  '));
}

function named(reason: string, found: readonly Fed[]): string[] {
  if (found.length === 0) return [];
  const lines = found.slice(0, MOST_NAMED).map(({ recording, status, complaint, held, charged }) => {
    const answered = complaint === undefined ? '' : `, answered ${status} ${complaint}`;
    return `  ${recording.name}: reported ${recording.reported}, held ${held}, charged ${charged}${answered}`;
  });
  return [`\n${reason}: ${found.length}`, ...lines, ...(found.length > MOST_NAMED ? ['  ...'] : [])];
}

const countOf = (group: readonly Fed[], is: (fed: Fed) => boolean): string => String(group.filter(is).length);

function share(group: readonly Fed[], is: (fed: Fed) => boolean): string {
  const answered = group.filter(isAnswered);
  return answered.length === 0 ? '-' : `${((answered.filter(is).length / answered.length) * 100).toFixed(1)} %`;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? (sorted[middle] as number) : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
