import type { Kind } from '../contract/kinds.js';
import { linkTo } from '../contract/links.js';
import { authzChanged } from './authz.js';
import {
  type Change,
  changedDocument,
  checkPrecondition,
  ofSameResource,
  type Precondition,
  partsOf,
} from './change.js';
import type { ControlEvent, Deciding, Read } from './control-events.js';
import { refuseGrants } from './grants.js';
import { groupsWithout } from './group.js';
import { keysRevoked } from './key.js';
import { policiesWithout } from './policy.js';
import { ControlRefusal } from './refusal.js';
import { auditIds, begun, type Occasion, refuseBuiltinTags, revised } from './resource.js';
import { refOf, resourceAt, resourceStream } from './resource-at.js';
import type { Check, ResourceDocument, ResourceKind, ResourceState } from './resource-kind.js';
import { keepSuperuserKey } from './superusers.js';

export interface CreateResource<Document extends ResourceDocument = ResourceDocument> extends Occasion {
  readonly org: string;
  readonly name: string;
  readonly document: Document;
}

/** Where the name is unique over the whole service, the refusal does not say whose it is. */
export function* decideCreate<State extends ResourceState, Document extends ResourceDocument>(
  of: ResourceKind<State, Document>,
  read: Read,
  command: CreateResource<Document>,
): Deciding {
  const { org, name, document, at, id } = command;
  const { kind } = of;
  const stream = resourceStream(kind, org, name);
  refuseBuiltinTags(document.tags);
  if (read(stream)) throw new ControlRefusal('already_exists', `a ${kind.noun} named ${name} exists`);
  const settled = of.settle?.(read, org, document) ?? document;
  const origin = kind.assigned.includes('origin') && { origin: 'default' as const };
  const events = [
    eventOf(kind, 'created', { ...begun(id(0), at), org, name, ...origin, ...settled }, id(1)),
    ...(of.gives.includes('create') ? [authzChanged(org)] : []),
  ];
  if (of.gives.includes('create')) yield* refuseGrants(read, command, events);
  return events;
}

export interface EditResource extends Occasion {
  readonly org: string;
  readonly ref: string;
  readonly change: Change;
}

/** No event where the resource is as it should be already. */
export function* decideEdit<State extends ResourceState, Document extends ResourceDocument>(
  of: ResourceKind<State, Document>,
  read: Read,
  command: EditResource,
  check: Check = of.newCheck(),
): Deciding {
  const { org, ref, change, at, id } = command;
  const { kind } = of;
  const before = existing<State>(read, kind, org, ref);
  const parts = partsOf(kind, change);
  checkPrecondition(parts.expected, before.version);
  const former = documentOf<Document>(kind, before);
  const document = ofSameResource(parts.identity, before, () => {
    const { patch, faults } = (change.how === 'merge' && of.expand?.(read, before, parts.changes)) || {
      patch: parts.changes,
      faults: [],
    };
    const said = { changes: patch, faults: [...parts.faults, ...faults] };
    const sound = changedDocument(of, check, { before: former, ref, how: change.how }, said);
    return of.settle?.(read, org, sound, before) ?? sound;
  });
  refuseBuiltinTags(document.tags, before.tags);
  const after = revised(before, { ...without(before, former, document), ...document }, at);
  if (!after) return [];
  of.refuseEdit?.(before, after);
  const gives = of.gives.includes('edit');
  const events = [
    eventOf(kind, 'edited', after, id(0), of.action?.(before, after)),
    ...(gives ? [authzChanged(org)] : []),
  ];
  keepSuperuserKey(read, org, at, events);
  if (gives) yield* refuseGrants(read, command, events);
  return events;
}

export interface DeleteResource extends Occasion {
  readonly org: string;
  readonly ref: string;
  readonly expected?: Precondition;
}

/** Memberships, the places in policies and the keys go with the resource, in the same record. */
export function* decideDelete(of: ResourceKind, read: Read, command: DeleteResource): Deciding {
  const { org, ref, expected, at } = command;
  const { kind } = of;
  const before = existing(read, kind, org, ref);
  checkPrecondition(expected, before.version);
  if (of.keepsBuiltin && before.origin === 'builtin') {
    throw new ControlRefusal('builtin_resource', `the ${kind.noun} ${ref} is built in and cannot be deleted`);
  }
  const nextId = auditIds(command);
  const deleted = eventOf(kind, 'deleted', before, nextId());
  const link = linkTo(org, kind.name, refOf(kind, before));
  const isPrincipal = kind.operations.includes('keys');
  const events = [
    deleted,
    ...(isPrincipal ? groupsWithout(read, org, link, at, nextId) : []),
    ...policiesWithout(read, org, link, at, nextId, deleted.stream),
    ...(isPrincipal ? keysRevoked(read, link, nextId) : []),
    authzChanged(org),
  ];
  keepSuperuserKey(read, org, at, events);
  if (of.gives.includes('delete')) yield* refuseGrants(read, command, events);
  return events;
}

/** A resource of another organization is as unknown as one that is not there. */
export function existing<State extends ResourceState>(read: Read, kind: Kind, org: string, ref: string): State {
  const found = resourceAt(read, kind, org, ref);
  if (found) return found as State;
  throw new ControlRefusal('not_found', `no ${kind.noun} \`${ref}\` exists in \`${org}\``);
}

/** What of a resource its document says: all but what the service assigned. */
function documentOf<Document extends ResourceDocument>(kind: Kind, state: ResourceState): Document {
  const assigned = ['id', 'org', 'version', 'created', 'lastModified', kind.ref, ...kind.assigned];
  return Object.fromEntries(Object.entries(state).filter(([member]) => !assigned.includes(member))) as Document;
}

/** The resource without the members of its document that the new one does not have. */
function without<State extends ResourceState>(before: State, former: object, document: object): State {
  const gone = (member: string) => member in former && !(member in document);
  return Object.fromEntries(Object.entries(before).filter(([member]) => !gone(member))) as unknown as State;
}

function eventOf(
  kind: Kind,
  what: 'created' | 'edited' | 'deleted',
  data: ResourceState,
  auditId: string,
  action?: string,
): ControlEvent {
  const stream = resourceStream(kind, data.org, refOf(kind, data));
  const event = { type: `${kind.name}-${what}`, stream, auditId, data, ...(action !== undefined && { action }) };
  return event as ControlEvent;
}
