import type { Identity, Rendered } from './call.js';
import type { Core } from './core.js';
import type { Complaint, Dialect, Draft } from './dialects/dialect.js';
import { readDraft as readNamed } from './dialects/registry.js';
import { renderComplaint } from './http/render.js';
import { readIdentity } from './identity.js';
import type { Client } from './leaver.js';
import type { ResolvedMount } from './mount-options.js';
import { createPassing, type MountMemory, type Passing } from './passing.js';
import { Visit } from './visit.js';

/** A request at the gate, as an adapter reads it. */
export interface Arrival<Req> {
  readonly req: Req;
  readonly body: unknown;
  /** Size of the body as it came, in bytes; `undefined`: not known. */
  readonly bodyBytes: number | undefined;
  readonly path: string;
  /** Method, path and query: what else a handler may answer by. */
  readonly target: string;
  /** The route that the framework matched, as far as it is known when this is asked. */
  handler(): string;
  /** What the application's `identify` returned. */
  readonly given: unknown;
  readonly client: Client;
  /** The visit that this request began at another mount of the same gate, on its way here. */
  readonly outer: Visit | undefined;
}

/** One mounted route. */
export interface Mount<Req> {
  readonly options: ResolvedMount<Req>;
  /** Begins a visit, or says why there can be none. */
  open(arrival: Arrival<Req>): Passing | Rendered;
}

export function createMount<Req>(core: Core, options: ResolvedMount<Req>): Mount<Req> {
  const { registry, events, options: gate } = core;
  const memory: MountMemory = { calling: new Set(), hasToldUnseen: false };
  const identityOf = (given: unknown): Identity => readIdentity(given, gate.scopes).identity;

  function open({ req, body, bodyBytes, path, target, handler, given, client, outer }: Arrival<Req>): Passing | Rendered {
    const { dialect, draft } = readDraft(body, path);
    const { identity, missing } = readIdentity(given, gate.scopes);
    if (missing.length > 0) {
      for (const scope of missing) events.emit('identity-missing', { route: options.route, scope });
      const message = `This request carries no identity for: ${missing.join(', ')}. Please sign in.`;
      return refuse({ status: 401, kind: 'unidentified', message });
    }
    const objection = draft && core.objection(draft);
    if (objection) return refuse(objection);
    const { route, ladder, budgets: mountBudgets, headers, refuseWith } = options;
    // What another path or query, or another mount, answers to the same body is its own.
    const place = `mount:${route ?? ''} ${target}`;
    const visit = new Visit({
      identity,
      scopes: core.scopeNames,
      route,
      place,
      ladder,
      mountBudgets,
      refuseWith,
      leaver: client,
      outer,
    });
    const call = core.draft(visit, dialect, draft, body, options.callsPerRequest(req));
    return createPassing({ core, memory, handler, visit, call, bodyBytes, headers, identityOf, shown });

    function refuse(complaint: Complaint): Rendered {
      outer?.note('shed', undefined);
      return shown(renderComplaint(complaint, dialect ?? registry.fallback, undefined));
    }
  }

  /** A mount without headers about outcomes writes none on answers of ours either. */
  function shown(rendered: Rendered): Rendered {
    if (options.headers.outcome) return rendered;
    const headers = Object.entries(rendered.headers).filter(([name]) => !name.startsWith('spillway-'));
    return { ...rendered, headers: Object.fromEntries(headers) };
  }

  function readDraft(body: unknown, path: string): { dialect?: Dialect; draft?: Draft } {
    if (!options.dialect) return registry.detect(body, path) ?? {};
    const draft = readNamed(options.dialect, body, options.dialect.endpoint ?? path);
    return draft ? { dialect: options.dialect, draft } : { dialect: options.dialect };
  }

  return { options, open };
}
