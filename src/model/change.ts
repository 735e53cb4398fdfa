import type { Kind } from '../contract/kinds.js';
import { type Json, mergePatch } from './json.js';
import { ControlRefusal, type Fault } from './refusal.js';
import type { Check, DocumentKind } from './resource-kind.js';

/** What `If-Match` asks of a resource: this version, or `*`: that there is one. */
export type Precondition = number | '*';

/** Throws `precondition_failed`. A resource that is not there has no version. */
export function checkPrecondition(expected: Precondition | undefined, version: number | undefined): void {
  if (expected === undefined || expected === version || (expected === '*' && version !== undefined)) return;
  const found = version === undefined ? 'does not exist' : `is at version ${version}`;
  throw new ControlRefusal('precondition_failed', `the resource ${found}`);
}

/** What a body that was read earlier says of its resource, and a change cannot alter. */
export interface Identity {
  readonly id?: string;
  readonly name?: string;
  readonly created?: string;
  readonly email?: string;
  readonly idp?: string;
  readonly origin?: string;
}

/**
 * What `decide` makes of a body that says it is of this resource. Throws `validation_failed` with every fault: where it is
 * of another, and what `decide` finds besides.
 */
export function ofSameResource<Result>(said: Identity, resource: Identity, decide: () => Result): Result {
  const faults = identityFaults(said, resource);
  if (faults.length === 0) return decide();
  throw new ControlRefusal('validation_failed', 'the body is of another resource', [...faults, ...faultsOf(decide)]);
}

function identityFaults(said: Identity, resource: Identity): Fault[] {
  const altered = (Object.keys(said) as (keyof Identity)[]).filter((name) => said[name] !== resource[name]);
  return altered.map((name) => ({
    pointer: `/${name}`,
    reason: 'cannot be changed; leave it as it was read, or out',
  }));
}

/** Of what is refused in any case. */
function faultsOf(decide: () => unknown): readonly Fault[] {
  try {
    decide();
    return [];
  } catch (error) {
    if (error instanceof ControlRefusal) return error.faults;
    throw error;
  }
}

/** A change of a resource by a body: merged into its document (RFC 7396), or in place of it. */
export interface Change {
  readonly how: 'merge' | 'replace';
  /** May repeat what the service assigned, as it was read. */
  readonly body: Json;
  /** Absent: the `version` of the body is the precondition, if it has one. */
  readonly expected?: Precondition;
}

/** The parts of a body: what it changes, and what it only repeats. */
export interface ChangeParts {
  readonly changes: Json;
  readonly identity: Identity;
  readonly expected: Precondition | undefined;
  readonly faults: readonly Fault[];
}

export function partsOf({ name, ref, assigned, shown }: Kind, { body, expected }: Change): ChangeParts {
  const { kind, version, lastModified: _lastModified, links: _links, ...rest } = body;
  const faults: Fault[] = [];
  if (kind !== undefined && kind !== name) faults.push({ pointer: '/kind', reason: `must be ${name}` });
  if (version !== undefined && !Number.isSafeInteger(version)) {
    faults.push({ pointer: '/version', reason: 'must be a whole number' });
  }
  const repeated = ['id', ref, 'created', ...assigned];
  const members = Object.entries(rest);
  return {
    faults,
    changes: Object.fromEntries(members.filter(([member]) => !repeated.includes(member) && !shown.includes(member))),
    identity: Object.fromEntries(members.filter(([member]) => repeated.includes(member))),
    expected: expected ?? (faults.length === 0 ? (version as number | undefined) : undefined),
  };
}

/** The document after the change, sound and complete. Throws `validation_failed` with every fault of the body and of the result. */
export function changedDocument<Document extends object>(
  of: DocumentKind<Document>,
  check: Check,
  { before, ref, how }: { readonly before: Document; readonly ref: string; readonly how: Change['how'] },
  { changes, faults }: Pick<ChangeParts, 'changes' | 'faults'>,
): Document {
  const document = how === 'merge' ? (mergePatch(before, changes) as Json) : changes;
  const all = [...faults, ...check(document)];
  if (all.length > 0) throw new ControlRefusal('validation_failed', 'the document has faults', all);
  return of.complete(document as never, ref);
}
