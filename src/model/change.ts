import type { Kind } from '../contract/kinds.js';
import { type Json, mergePatch } from './merge-patch.js';
import type { Identity, Precondition } from './precondition.js';
import { ControlRefusal, type Fault } from './refusal.js';
import type { Check, DocumentKind } from './resource-kind.js';

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
