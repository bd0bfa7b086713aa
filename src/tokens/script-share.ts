/** Code units that are looked at, in so many stretches of the text. */
const STRETCHES = 8;
const STRETCH = 256;
/** Everything from here on is no Latin letter: Greek, Cyrillic, Arabic, Indic, Han, ... */
const FIRST_OTHER = 0x370;

/** Share of a text's code units that are of a script other than Latin, 0 to 1: all of a short one is looked at, samples of a long one. */
export function otherScriptShare(text: string): number {
  const isShort = text.length <= STRETCHES * STRETCH;
  const step = isShort ? STRETCH : (text.length - STRETCH) / (STRETCHES - 1);
  let seen = 0;
  let others = 0;
  for (let stretch = 0; stretch < STRETCHES; stretch++) {
    const from = Math.floor(stretch * step);
    const to = Math.min(text.length, from + STRETCH);
    for (let at = from; at < to; at++) {
      seen++;
      const unit = text.charCodeAt(at);
      // General punctuation and symbols belong to all scripts.
      if (unit >= FIRST_OTHER && (unit < 0x1e00 || unit > 0x2bff)) others++;
    }
  }
  return seen === 0 ? 0 : others / seen;
}
