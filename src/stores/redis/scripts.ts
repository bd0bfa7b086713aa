import { createHash } from 'node:crypto';
import { DECIDE } from './lua/decide.js';
import { LOOK, PEEK, RENEW } from './lua/look-after.js';
import { ADOPT, BEAT, MERGE } from './lua/mend.js';

/** A script for Redis, and the name by which Redis knows it once it was sent. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** How long a settled id is remembered, in milliseconds. */
export const SETTLED_MS = 120_000;

export const SCRIPTS = {
  decide: script(DECIDE),
  renew: script(RENEW),
  peek: script(PEEK),
  look: script(LOOK),
  adopt: script(ADOPT),
  merge: script(MERGE),
  beat: script(BEAT),
} as const;

function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}
