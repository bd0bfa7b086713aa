/** Last segments of paths that say which wire format is spoken there. */
const ENDPOINTS = new Set([
  'completions',
  'messages',
  'responses',
  'embeddings',
  'count_tokens',
  'input_tokens',
  'moderations',
  'batches',
]);
/** Gemini's methods stand behind a colon. */
const METHOD = /:(\w*(?:Content|Tokens))$/;

/**
 * Which endpoint a path means, by its last segment: `chat/completions`, `completions`, `messages`, `generateContent`; `undefined` for
 * routes of an application.
 */
export function endpointOf(path: string | undefined): string | undefined {
  if (path === latest.path) return latest.endpoint;
  const endpoint = readEndpoint(path);
  latest = { path, endpoint };
  return endpoint;
}

/** Every dialect asks in turn about the same path. */
let latest: { readonly path: string | undefined; readonly endpoint: string | undefined } = { path: '', endpoint: undefined };

function readEndpoint(path: string | undefined): string | undefined {
  const [last, before] = lastSegments(path);
  const name = last.toLowerCase();
  if (name === 'completions' && before.toLowerCase() === 'chat') return 'chat/completions';
  if (name === 'compact' && before.toLowerCase() === 'responses') return 'responses';
  return ENDPOINTS.has(name) ? name : METHOD.exec(last)?.[1];
}

/** Whether sound or pictures are made at a path, of bodies that may look like calls for text: `audio/speech`, `videos`. */
export function makesNoText(path: string | undefined): boolean {
  const [last, before] = lastSegments(path).map((segment) => segment.toLowerCase());
  return last === 'videos' || before === 'audio' || before === 'images';
}

/** The last segment of a path and the one before it; empty where there is none. */
function lastSegments(path = ''): [last: string, before: string] {
  const segments = (path.split(/[?#]/, 1)[0] as string).split('/').filter((segment) => segment !== '');
  return [segments[segments.length - 1] ?? '', segments[segments.length - 2] ?? ''];
}
