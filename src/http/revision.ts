import type { FastifyRequest } from 'fastify';
import type { FieldFault } from '../contract/errors.js';
import type { Identity, Precondition } from '../model/precondition.js';
import { ControlRefusal } from '../model/refusal.js';
import { checkBody, checkQuery, noParameters } from './errors/request-faults.js';
import { isObject, mergePatch } from './json/merge-patch.js';
import { preconditionOf } from './shapes/preconditions.js';

type Json = Readonly<Record<string, unknown>>;

/** How a kind of resource is changed by documents. */
export interface Revisable<Document> {
  readonly kind: string;
  /** What a document may hold, checked whole. */
  readonly faultsOf: (document: unknown) => readonly FieldFault[];
  /** The document of a sound body, with the defaults filled in. */
  readonly complete: (body: Json) => Document;
  /** Members that a body that was read may repeat, and not alter. */
  readonly identity: readonly (keyof Identity)[];
  /** Members of the view that are no part of the document: a body that was read may hold them, and they are ignored. */
  readonly shown?: readonly string[];
  /** Applied to a patch's members before it is merged: operators become what they amount to. */
  readonly expand?: (document: Document, patch: Json) => Expanded;
}

interface Expanded {
  readonly patch: Json;
  /** Of the operators. */
  readonly faults: readonly FieldFault[];
}

/** A change by a document, as commands take it. */
export interface Revision<Document> {
  /** Throws `ControlRefusal` with what is wrong with the body and with what would come of it. */
  readonly revise: (document: Document) => Document;
  /** What the body says of the resource beside that, for the decision to compare. */
  readonly identity: Identity;
  readonly expected?: Precondition;
}

/**
 * PATCH: the body is merged into the document, and the whole then checked. What is wrong with it is told by `revise`, with
 * every fault at once. Throws `validation_failed` for what is no patch at all.
 */
export function patchOf<Document extends object>(request: FastifyRequest, of: Revisable<Document>): Revision<Document> {
  const { changes, faults, ...rest } = takeApart(request, of);
  return {
    ...rest,
    revise: (document) => {
      const expanded = of.expand?.(document, changes) ?? { patch: changes, faults: [] };
      const merged = mergePatch(document, expanded.patch) as Json;
      return completed(merged, [...faults, ...expanded.faults], of);
    },
  };
}

/** PUT: the body is the document; what it leaves out gets its default. Else as `patchOf`. */
export function replacementOf<Document extends object>(
  request: FastifyRequest,
  of: Revisable<Document>,
): Revision<Document> {
  const { changes, faults, ...rest } = takeApart(request, of);
  return { ...rest, revise: () => completed(changes, faults, of) };
}

/** Throws `validation_failed` with what is wrong with the body, and with the document that comes of it. */
function completed<Document>(body: Json, faults: readonly FieldFault[], of: Revisable<Document>): Document {
  const all = [...faults, ...of.faultsOf(body)];
  if (all.length > 0) throw new ControlRefusal('validation_failed', 'the document has faults', all);
  return of.complete(body);
}

/** What the body changes, and what it only repeats: the service assigned it when the resource was read. */
function takeApart<Document>(
  request: FastifyRequest,
  { kind, identity, shown = [] }: Revisable<Document>,
): Pick<Revision<Document>, 'identity' | 'expected'> & {
  readonly changes: Json;
  readonly faults: readonly FieldFault[];
} {
  checkQuery(noParameters, request);
  const body = checkBody<Json>(
    (value) => (isObject(value) ? [] : [{ pointer: '', reason: 'must be an object' }]),
    request.body,
  );
  const { kind: said, version, lastModified: _lastModified, links: _links, ...rest } = body;
  const faults: FieldFault[] = [];
  if (said !== undefined && said !== kind) faults.push({ pointer: '/kind', reason: `must be ${kind}` });
  if (version !== undefined && !Number.isSafeInteger(version)) {
    faults.push({ pointer: '/version', reason: 'must be a whole number' });
  }
  const repeated = identity.filter((name) => Object.hasOwn(rest, name));
  const expected = faults.length === 0 ? preconditionOf(request, version as number | undefined) : undefined;
  return {
    faults,
    changes: Object.fromEntries(
      Object.entries(rest).filter(([name]) => !repeated.includes(name as keyof Identity) && !shown.includes(name)),
    ),
    identity: Object.fromEntries(repeated.map((name) => [name, rest[name]])),
    ...(expected !== undefined && { expected }),
  };
}
