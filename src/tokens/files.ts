/** Tokens of audio for each second, and bytes of it: of common MP3; WAV has three times as many and is over-estimated. */
const AUDIO_TOKENS_PER_SECOND = 10;
const AUDIO_BYTES_PER_SECOND = 16_000;
/** A page, as text and as an image: what a small document costs, or one that is elsewhere. One-page PDFs took 220 to 1,050. */
const PAGE_TOKENS = 1_000;
const PAGE_BYTES = 50_000;
/** No file counts as more: 100 pages, or nearly three hours of audio. */
const MOST_TOKENS = 100_000;

/**
 * Tokens of a file, by default values for its size: its content is not looked at. Never under one page, or 10 s of audio.
 * @param base64Length - characters of base64 in the body; 0 when the content is elsewhere
 */
export function fileTokens(media: 'audio' | 'document', base64Length: number): number {
  const bytes = Math.max(0, base64Length) * 0.75;
  const tokens =
    media === 'audio'
      ? Math.max(10, bytes / AUDIO_BYTES_PER_SECOND) * AUDIO_TOKENS_PER_SECOND
      : Math.max(1, bytes / PAGE_BYTES) * PAGE_TOKENS;
  return Math.min(MOST_TOKENS, Math.ceil(tokens));
}
