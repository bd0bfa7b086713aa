import { type FairSample, FEWEST_KNOWN } from './fair-sample.js';
import { MEDIAN_ERROR, spreadOf } from './outdated.js';
import { ascending, median, upperQuantile } from './quantile.js';

/** Share of prompts that what is held must cover: above the 95 % that is promised, for a sample never tells exactly. */
const COVERED_RATIO = 0.97;
/** A tenant with this many observations is judged by them alone. */
const ENOUGH_OF_ONE = 64;
/** Fewest observations that a margin for a group of tenants is taken from. */
const ENOUGH_OF_GROUP = 16;
/** A tenant differs from all others when its median is so many standard errors away from theirs. */
const DIFFERS_FROM_ERRORS = 3;

/** Where real input lies by the estimate, as natural logarithms of real / estimated. */
export interface Place {
  /** Where the middle is. */
  readonly centre: number;
  /** How far above it the upper end is; 0 or more. */
  readonly margin: number;
}

export interface InputFit extends Place {
  /** About the standard deviation, once outliers are left out. */
  readonly spread: number;
  /** For tenants with places of their own; all others have that of the newcomers. */
  readonly places: ReadonlyMap<number, Place>;
  readonly newcomers: Place;
}

/** What is left of a tenant's observations around its centre. */
interface Residuals {
  readonly tenant: number;
  readonly centre: number;
  readonly values: readonly number[];
}

/**
 * Fits the ratio of real to estimated input from a sample of its logarithms. Medians and order statistics throughout, so outliers
 * up to a share move little, and no form of noise is assumed. Known tenants whose median differs from that of all by more than
 * chance have a centre of their own; margins are taken from what is left around the centres, without the tenant that would widen them
 * most: so nobody moves what others are held at, and everybody pays for what they do themselves. Pure.
 */
export function fitInput(sample: FairSample): InputFit {
  const { tenants, mostOfOne } = sample;
  const centre = median(ascending(latest(tenants.values(), mostOfOne)));
  const { medians, spread } = withinTenants(sample, centre);
  const known: Residuals[] = [];
  const newcomers: Residuals[] = [];
  for (const [tenant, { values }] of tenants) {
    const middle = medians.get(tenant);
    const own = middle === undefined ? centre : ownCentre(middle, centre, values.length, spread);
    const factor = own === centre ? 1 : correctionFor(values.length);
    const residuals = { tenant, centre: own, values: values.map((value) => (value - own) * factor) };
    (middle === undefined ? newcomers : known).push(residuals);
  }
  const all = [...known, ...newcomers];
  const among = (group: readonly Residuals[]) => marginOf(sizeOf(group) >= ENOUGH_OF_GROUP ? group : all, mostOfOne);
  const shared = among(known);
  const places = new Map<number, Place>();
  for (const { tenant, centre, values } of known) {
    const isEnough = values.length >= ENOUGH_OF_ONE;
    const own = isEnough || tenant === shared.widest ? upperEnd(values) : 0;
    places.set(tenant, { centre, margin: isEnough ? own : Math.max(own, shared.margin) });
  }
  const ofNewcomers = { centre, margin: among(newcomers).margin };
  return { centre, margin: shared.margin, spread, places, newcomers: ofNewcomers };
}

/** Medians of known tenants, and the spread around them; around that of all where nobody is known. */
function withinTenants(
  { tenants, mostOfOne }: FairSample,
  centre: number,
): { medians: ReadonlyMap<number, number>; spread: number } {
  const medians = new Map<number, number>();
  const within: number[] = [];
  for (const [tenant, { values }] of tenants) {
    if (values.length < FEWEST_KNOWN) continue;
    const middle = median(ascending(values));
    medians.set(tenant, middle);
    const factor = correctionFor(values.length);
    for (const value of values.slice(-mostOfOne)) within.push((value - middle) * factor);
  }
  const sorted = ascending(within.length > 0 ? within : latest(tenants.values(), mostOfOne).map((value) => value - centre));
  return { medians, spread: spreadOf(sorted) };
}

/** A tenant's own median as far as it is not chance, drawn to that of all where it may be. */
function ownCentre(middle: number, centre: number, observations: number, spread: number): number {
  const distance = Math.abs(middle - centre);
  if (observations >= ENOUGH_OF_ONE || distance === 0) return middle;
  const chance = (DIFFERS_FROM_ERRORS * MEDIAN_ERROR * spread) / Math.sqrt(observations);
  return centre + (middle - centre) * Math.max(0, 1 - (chance / distance) ** 2);
}

/** Observations lie closer to their own median than later ones will. */
function correctionFor(observations: number): number {
  return observations < 2 ? 1 : Math.sqrt((observations + 1) / (observations - 1));
}

/** The margin of a group without its widest tenant, the one that has most of what is above it, where the others have given enough. */
function marginOf(group: readonly Residuals[], mostOfOne: number): { margin: number; widest: number | undefined } {
  const margin = upperEnd(latest(group, mostOfOne));
  let most = 0;
  let found: Residuals | undefined;
  for (const residuals of group) {
    const above = residuals.values.slice(-mostOfOne).reduce((count, value) => count + (value >= margin ? 1 : 0), 0);
    if (above > most) [most, found] = [above, residuals];
  }
  const rest = latest(
    group.filter((residuals) => residuals !== found),
    mostOfOne,
  );
  if (!found || rest.length < ENOUGH_OF_GROUP) return { margin, widest: undefined };
  return { margin: upperEnd(rest), widest: found.tenant };
}

const upperEnd = (values: readonly number[]): number => Math.max(0, upperQuantile(ascending(values), COVERED_RATIO));

const sizeOf = (group: readonly Residuals[]): number => group.reduce((size, { values }) => size + values.length, 0);

/** What speaks for all: the latest of each. */
function latest(group: Iterable<{ readonly values: readonly number[] }>, mostOfOne: number): number[] {
  const found: number[] = [];
  for (const { values } of group)
    for (let index = Math.max(0, values.length - mostOfOne); index < values.length; index++) found.push(values[index] as number);
  return found;
}
