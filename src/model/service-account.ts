import { linkTo } from '../contract/links.js';
import { authzChanged } from './authz.js';
import type { ControlEvent, Read } from './control-events.js';
import { groupsWithout } from './group.js';
import { keysRevoked } from './key.js';
import { policiesWithout } from './policy.js';
import { checkPrecondition, type Identity, ofSameResource, type Precondition } from './precondition.js';
import { ControlRefusal } from './refusal.js';
import {
  auditIds,
  begun,
  type Occasion,
  type Origin,
  type Resource,
  type ResourceEvent,
  refuseBuiltinTags,
  revised,
} from './resource.js';
import { serviceAccountStream } from './streams.js';
import { keepSuperuserKey } from './superusers.js';

/** What a caller says of a service account. */
export interface ServiceAccountDocument {
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface ServiceAccountState extends Resource {
  readonly org: string;
  readonly origin: Origin;
}

export type ServiceAccountEvent = ResourceEvent<'serviceaccount', ServiceAccountState>;

export function serviceAccountLink(org: string, name: string): string {
  return linkTo(org, 'serviceaccount', name);
}

export interface CreateServiceAccount extends Occasion {
  readonly org: string;
  readonly name: string;
  readonly document: ServiceAccountDocument;
}

export function decideCreateServiceAccount(read: Read, command: CreateServiceAccount): ControlEvent[] {
  const { org, name, document, at, id } = command;
  const stream = serviceAccountStream(org, name);
  refuseBuiltinTags(document.tags);
  if (read(stream)) throw new ControlRefusal('already_exists', `a service account named ${name} exists`);
  const data: ServiceAccountState = { ...begun(id(0), at), org, name, origin: 'default', ...document };
  return [{ type: 'serviceaccount-created', stream, auditId: id(1), data }];
}

export interface EditServiceAccount extends Occasion {
  readonly org: string;
  readonly name: string;
  /** What becomes of the document; called again whenever another change came first. Throws `ControlRefusal`. */
  readonly revise: (document: ServiceAccountDocument) => ServiceAccountDocument;
  readonly expected?: Precondition;
  readonly identity?: Identity;
}

/** No event where the account is as it should be already. */
export function decideEditServiceAccount(read: Read, command: EditServiceAccount): ControlEvent[] {
  const { org, name, revise, expected, identity = {}, at, id } = command;
  const before = existingServiceAccount(read, org, name);
  checkPrecondition(expected, before.version);
  const { description, tags } = before;
  const document = ofSameResource(identity, before, () => revise({ description, tags }));
  refuseBuiltinTags(document.tags, tags);
  const after = revised<ServiceAccountState>(before, { ...before, ...document }, at);
  const stream = serviceAccountStream(org, name);
  return after ? [{ type: 'serviceaccount-edited', stream, auditId: id(0), data: after }] : [];
}

export interface DeleteServiceAccount extends Occasion {
  readonly org: string;
  readonly name: string;
  readonly expected?: Precondition;
}

/** Memberships, policy bindings and keys go with the account, in the same record. */
export function decideDeleteServiceAccount(read: Read, command: DeleteServiceAccount): ControlEvent[] {
  const { org, name, expected, at } = command;
  const before = existingServiceAccount(read, org, name);
  checkPrecondition(expected, before.version);
  const link = serviceAccountLink(org, name);
  const nextId = auditIds(command);
  const events: ControlEvent[] = [
    { type: 'serviceaccount-deleted', stream: serviceAccountStream(org, name), auditId: nextId(), data: before },
    ...groupsWithout(read, org, link, at, nextId),
    ...policiesWithout(read, org, link, at, nextId),
    ...keysRevoked(read, link, nextId),
    authzChanged(org),
  ];
  keepSuperuserKey(read, org, at, events);
  return events;
}

function existingServiceAccount(read: Read, org: string, name: string): ServiceAccountState {
  const account = read(serviceAccountStream(org, name));
  if (!account) throw new ControlRefusal('not_found', `there is no service account named ${name} in this organization`);
  return account;
}
