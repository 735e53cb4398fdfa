import { linkTo } from '../contract/links.js';
import { authzChanged } from './authz.js';
import type { ControlEvent, Read } from './control-events.js';
import { refuseGrants } from './grants.js';
import { groupsWithout } from './group.js';
import { keysRevoked } from './key.js';
import { policiesWithout } from './policy.js';
import { checkPrecondition, type Identity, ofSameResource, type Precondition } from './precondition.js';
import { userOf } from './principals.js';
import { ControlRefusal } from './refusal.js';
import { auditIds, type Occasion, type Resource, type ResourceEvent, refuseBuiltinTags, revised } from './resource.js';
import { userStream } from './streams.js';
import { keepSuperuserKey } from './superusers.js';

/** A user is known by the e-mail address, in lower case; it does not change. `name` is the full name. */
export interface UserState extends Resource {
  readonly org: string;
  readonly email: string;
  /** The identity provider that vouches for the address. */
  readonly idp: string;
}

/** What a caller may change. */
export interface UserDocument {
  readonly name: string;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
}

export type UserEvent = ResourceEvent<'user', UserState>;

/** Users who proved the address by an invitation. */
export const INVITED_IDP = 'invitation';

export function userLink(org: string, email: string): string {
  return linkTo(org, 'user', email);
}

export function existingUser(read: Read, org: string, ref: string): UserState {
  const user = userOf(read, org, ref);
  if (!user) throw new ControlRefusal('not_found', 'there is no such user in this organization');
  return user;
}

export interface EditUser extends Occasion {
  readonly org: string;
  readonly ref: string;
  /** What becomes of the document; called again whenever another change came first. Throws `ControlRefusal`. */
  readonly revise: (document: UserDocument) => UserDocument;
  readonly expected?: Precondition;
  readonly identity?: Identity;
}

/** No event where the user is as it should be already. */
export function decideEditUser(read: Read, command: EditUser): ControlEvent[] {
  const { org, ref, revise, expected, identity = {}, at, id } = command;
  const before = existingUser(read, org, ref);
  checkPrecondition(expected, before.version);
  const { name, description, tags } = before;
  const document = ofSameResource(identity, before, () => revise({ name, description, tags }));
  refuseBuiltinTags(document.tags, tags);
  const after = revised<UserState>(before, { ...before, ...document }, at);
  if (!after) return [];
  const events: ControlEvent[] = [
    { type: 'user-edited', stream: userStream(org, before.email), auditId: id(0), data: after },
    authzChanged(org),
  ];
  // The user may match the query of a group by now.
  refuseGrants(read, command, events);
  return events;
}

export interface DeleteUser extends Occasion {
  readonly org: string;
  readonly ref: string;
  readonly expected?: Precondition;
}

/** Memberships, policy bindings and keys go with the user, in the same record. */
export function decideDeleteUser(read: Read, command: DeleteUser): ControlEvent[] {
  const { org, ref, expected, at } = command;
  const before = existingUser(read, org, ref);
  checkPrecondition(expected, before.version);
  const link = userLink(org, before.email);
  const nextId = auditIds(command);
  const events: ControlEvent[] = [
    { type: 'user-deleted', stream: userStream(org, before.email), auditId: nextId(), data: before },
    ...groupsWithout(read, org, link, at, nextId),
    ...policiesWithout(read, org, link, at, nextId),
    ...keysRevoked(read, link, nextId),
    authzChanged(org),
  ];
  keepSuperuserKey(read, org, at, events);
  return events;
}
