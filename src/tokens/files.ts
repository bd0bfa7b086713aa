import type { FilePart } from '../dialects/dialect.js';
import { pdfPages, wavSeconds } from './media-length.js';

/** What a page of a document takes, by provider: as text and as an image. */
const PAGES = {
  /** One-page PDFs took 220 to 1,050 in chats and less in responses (recorded 2025 and 2026). */
  openai: 1_000,
  /** 1,500 to 3,000 of text a page (PDF guide of 2025) or 1,600 where there is hardly any; measured: 2,100 to 2,660. */
  claude: 2_500,
} as const;

/** Bytes of a page where pages cannot be counted. */
const PAGE_BYTES = 50_000;
/** Tokens of sound for each second (recorded 2025), and bytes of it in the common MP3. */
const SECOND_TOKENS = 10;
const SECOND_BYTES = 16_000;
/** Sound that is elsewhere, in seconds. */
const USUAL_SECONDS = 10;
/** No file counts as more: 100 pages, or nearly three hours of sound. */
const MOST_TOKENS = 100_000;

/** Tokens of a document, by a default for its pages: as many as a PDF says, else by its bytes; one for what is elsewhere. */
export function documentTokens(file: FilePart, provider: keyof typeof PAGES): number {
  const pages = pdfPages(file.data ?? '') ?? Math.max(1, bytesOf(file) / PAGE_BYTES);
  return atMost(pages * PAGES[provider]);
}

/** Tokens of sound: by its length, where the body or the head of a WAV file tells it, else by its bytes. */
export function soundTokens(file: FilePart): number {
  const bytes = bytesOf(file);
  const seconds = file.seconds ?? wavSeconds(file.data ?? '') ?? (bytes > 0 ? bytes / SECOND_BYTES : USUAL_SECONDS);
  return atMost(Math.max(0, seconds) * SECOND_TOKENS);
}

const atMost = (tokens: number): number => Math.min(MOST_TOKENS, Math.ceil(tokens));
const bytesOf = ({ base64Length }: FilePart): number => Math.max(0, base64Length) * 0.75;
