import { modelOf } from './values.js';

/** What a path of Google's APIs asks for, and of which model. */
export interface GeminiTarget {
  /** `undefined`: a name that cannot be one. */
  readonly model: string | undefined;
  /** `generateContent`, `streamGenerateContent`, `countTokens`, `embedContent`, ... */
  readonly method: string;
  /** Whether Vertex AI is asked, which counts tools in another way than the Gemini API does. */
  readonly isVertex: boolean;
}

/**
 * The last segment is `MODEL:method`; what is before it names the kind of model, and on Vertex AI the project. Applications have
 * methods of other names at their routes.
 */
const TARGET = /(?:^|\/)([^/:]+(?::[^/:]*)*):([a-zA-Z]*(?:Contents?|Tokens|[pP]redict))\/?$/;
/** Longest part of a path that is looked at, from its end. */
const LONGEST = 2_048;
/** What a model is called below; one that an application tuned or deployed is not found under the others. */
const RESOURCE = /(?:^|\/)(?:models|tunedModels|endpoints)\/([^/]+)$/;

/** `/v1beta/models/MODEL:method`, and the longer paths of Vertex AI; `undefined` for all others. */
export function geminiTarget(path: string | undefined): GeminiTarget | undefined {
  const whole = withoutQuery(path ?? '');
  const found = TARGET.exec(whole.slice(-LONGEST));
  const [, name, method] = found ?? [];
  if (name === undefined || method === undefined) return undefined;
  return { model: modelOf(decoded(name)), method, isVertex: /\/projects\//.test(whole.slice(0, LONGEST)) };
}

/** The same path for another model of the provider's own; paths that name none stay. */
export function pathForModel(path: string, model: string): string {
  const target = geminiTarget(path);
  if (!target) return path;
  const end = withoutQuery(path).lastIndexOf(`:${target.method}`);
  const start = path.lastIndexOf('/', end) + 1;
  const before = path
    .slice(0, start)
    .replace(/(^|\/)tunedModels\/$/, '$1models/')
    .replace(/(^|\/)endpoints\/$/, '$1publishers/google/models/');
  return `${before}${encodeURIComponent(model)}${path.slice(end)}`;
}

/** The name of a model without what it is kept under: `models/gemini-2.5-pro`, `publishers/google/models/gemini-2.5-pro`. */
export function plainModel(value: unknown): string | undefined {
  const model = modelOf(value);
  return model === undefined ? undefined : (RESOURCE.exec(model)?.[1] ?? model);
}

const withoutQuery = (path: string): string => path.split(/[?#]/, 1)[0] as string;

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
