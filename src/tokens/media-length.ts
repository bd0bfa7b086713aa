/** Characters of base64 that are looked at, at either end of a file. */
const MOST_BASE64 = 16_384;
/** Pages that a document is believed to have. */
const MOST_PAGES = 1_000;
/** Seconds that a recording is believed to take: a day. */
const MOST_SECONDS = 86_400;

/** Length of a WAV file in seconds, by its head; `undefined` for everything else. */
export function wavSeconds(base64: string): number | undefined {
  const head = Buffer.from(base64.slice(0, 128), 'base64');
  if (head.length < 44 || head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 16) !== 'WAVEfmt ')
    return undefined;
  const bytesPerSecond = head.readUInt32LE(28);
  return bytesPerSecond === 0 ? undefined : Math.min(MOST_SECONDS, (base64.length * 0.75) / bytesPerSecond);
}

/**
 * Pages of a PDF, by what its beginning and its end say of them without being unpacked: 1 to 1,000. `undefined` where they say
 * nothing.
 */
export function pdfPages(base64: string): number | undefined {
  if (!base64.startsWith('JVBERi')) return undefined;
  // From a multiple of four characters, or all bytes would be shifted.
  const start = Math.max(MOST_BASE64, Math.floor((base64.length - MOST_BASE64) / 4) * 4);
  const text = [base64.slice(0, MOST_BASE64), base64.slice(start)]
    .map((part) => Buffer.from(part, 'base64').toString('latin1'))
    .join('');
  let pages = text.match(/\/Type\s{0,9}\/Page(?![a-zA-Z])/g)?.length ?? 0;
  for (const [, count] of text.matchAll(/\/Count\s{0,9}(\d{1,6})/g)) pages = Math.max(pages, Number(count));
  return pages === 0 ? undefined : Math.min(MOST_PAGES, pages);
}
