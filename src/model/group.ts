import { LIMITS } from '../contract/limits.js';
import { linkTo } from '../contract/links.js';
import { authzChanged } from './authz.js';
import { canonicalJson } from './canonical-json.js';
import type { ControlEvent, Read } from './control-events.js';
import { refuseGrants } from './grants.js';
import { type MemberQuery, selfSetFaults } from './member-query.js';
import { checkMemberLinks } from './members.js';
import { isPrincipal, policiesWithout } from './policy.js';
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
import { groupStream } from './streams.js';
import { keepSuperuserKey, SUPERUSERS } from './superusers.js';

/** What a caller says of a group. */
export interface GroupDocument {
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Links of users (by e-mail address) and service accounts. */
  readonly memberLinks: readonly string[];
  readonly memberQuery?: MemberQuery;
}

export interface GroupState extends Resource, GroupDocument {
  readonly org: string;
  readonly origin: Origin;
}

export type GroupEvent = ResourceEvent<'group', GroupState>;

export const VIEWERS = 'viewers';

export function groupLink(org: string, name: string): string {
  return linkTo(org, 'group', name);
}

export interface CreateGroup extends Occasion {
  readonly org: string;
  readonly name: string;
  readonly document: GroupDocument;
}

export function decideCreateGroup(read: Read, command: CreateGroup): ControlEvent[] {
  const { org, name, document, at, id } = command;
  refuseBuiltinTags(document.tags);
  if (read(groupStream(org, name))) throw new ControlRefusal('already_exists', `a group named ${name} exists`);
  const memberLinks = checkMemberLinks(read, org, document.memberLinks);
  const data: GroupState = { ...begun(id(0), at), org, name, origin: 'default', ...document, memberLinks };
  const events: ControlEvent[] = [
    { type: 'group-created', stream: groupStream(org, name), auditId: id(1), data },
    authzChanged(org),
  ];
  refuseGrants(read, command, events);
  return events;
}

export interface EditGroup extends Occasion {
  readonly org: string;
  readonly name: string;
  /** What becomes of the document; called again whenever another change came first. Throws `ControlRefusal`. */
  readonly revise: (document: GroupDocument) => GroupDocument;
  readonly expected?: Precondition;
  readonly identity?: Identity;
}

/** No event where the group is as it should be already. */
export function decideEditGroup(read: Read, command: EditGroup): ControlEvent[] {
  const { org, name, revise, expected, identity = {}, at, id } = command;
  const before = existingGroup(read, org, name);
  checkPrecondition(expected, before.version);
  const document = ofSameResource(identity, before, () => {
    const sound = revise(documentOf(before));
    const memberLinks = checkMemberLinks(read, org, sound.memberLinks, before.memberLinks);
    refuseSelfSet(read, before, sound.memberQuery);
    return { ...sound, memberLinks };
  });
  refuseBuiltinTags(document.tags, before.tags);
  const { memberQuery: _memberQuery, ...kept } = before;
  const after = revised<GroupState>(before, { ...kept, ...document }, at);
  if (!after) return [];
  refuseNoSuperuser(before, after);
  const events = [groupEdited(after, id(0), memberAction(before, after)), authzChanged(org)];
  keepSuperuserKey(read, org, at, events);
  refuseGrants(read, command, events);
  return events;
}

/** A query from before there was this rule may stay as it is: else nobody could be taken out of the group. */
function refuseSelfSet(read: Read, before: GroupState, query: MemberQuery | undefined): void {
  const faults = selfSetFaults(query);
  if (faults.length === 0 || canonicalJson(query) === canonicalJson(before.memberQuery ?? null)) return;
  if (!isPrincipal(read, before.org, groupLink(before.org, before.name))) return;
  throw new ControlRefusal('validation_failed', 'members would let themselves in', faults);
}

export interface DeleteGroup extends Occasion {
  readonly org: string;
  readonly name: string;
  readonly expected?: Precondition;
}

/** The policies that name the group lose it in the same record. */
export function decideDeleteGroup(read: Read, command: DeleteGroup): ControlEvent[] {
  const { org, name, expected, at } = command;
  const before = existingGroup(read, org, name);
  checkPrecondition(expected, before.version);
  if (before.origin === 'builtin') throw new ControlRefusal('builtin_resource', `the group ${name} cannot be deleted`);
  const nextId = auditIds(command);
  const events: ControlEvent[] = [
    { type: 'group-deleted', stream: groupStream(org, name), auditId: nextId(), data: before },
    ...policiesWithout(read, org, groupLink(org, name), at, nextId),
    authzChanged(org),
  ];
  // Who was in it may match the query of another: one of those that are not in this.
  refuseGrants(read, command, events);
  return events;
}

function existingGroup(read: Read, org: string, name: string): GroupState {
  const group = read(groupStream(org, name));
  if (!group) throw new ControlRefusal('not_found', `there is no group named ${name} in this organization`);
  return group;
}

function documentOf({ description, tags, memberLinks, memberQuery }: GroupState): GroupDocument {
  return { description, tags, memberLinks, ...(memberQuery && { memberQuery }) };
}

function groupEdited(data: GroupState, auditId: string, action?: string): GroupEvent {
  const stream = groupStream(data.org, data.name);
  return { type: 'group-edited', stream, auditId, data, ...(action !== undefined && { action }) };
}

/** What the audit log calls a change of nothing but the linked members, by which some came or some went. */
function memberAction(before: GroupState, after: GroupState): 'add-member' | 'remove-member' | undefined {
  const others = ({ memberLinks: _memberLinks, version: _version, lastModified: _lastModified, ...rest }: GroupState) =>
    canonicalJson(rest);
  if (others(before) !== others(after)) return undefined;
  const came = after.memberLinks.some((link) => !before.memberLinks.includes(link));
  const went = before.memberLinks.some((link) => !after.memberLinks.includes(link));
  if (came === went) return undefined;
  return came ? 'add-member' : 'remove-member';
}

/** The group with one more linked member, where it is there and takes one. */
export function joined(group: GroupState | undefined, link: string, at: string, nextId: () => string): GroupEvent[] {
  return group && group.memberLinks.length < LIMITS.members ? withMember(group, link, at, nextId) : [];
}

/** The group with one more linked member, however many it has. */
export function withMember(
  group: GroupState | undefined,
  link: string,
  at: string,
  nextId: () => string,
): GroupEvent[] {
  if (!group || group.memberLinks.includes(link)) return [];
  const after = revised<GroupState>(group, { ...group, memberLinks: [...group.memberLinks, link] }, at);
  return after ? [groupEdited(after, nextId(), 'add-member')] : [];
}

/** The groups that lose a member, as events of their own. Throws where that member is the last superuser. */
export function groupsWithout(read: Read, org: string, link: string, at: string, nextId: () => string): GroupEvent[] {
  return read.all('group', org).flatMap((before) => {
    if (!before.memberLinks.includes(link)) return [];
    const memberLinks = before.memberLinks.filter((member) => member !== link);
    const after = revised<GroupState>(before, { ...before, memberLinks }, at);
    if (!after) return [];
    refuseNoSuperuser(before, after);
    return [groupEdited(after, nextId(), 'remove-member')];
  });
}

function refuseNoSuperuser(before: GroupState, after: GroupState): void {
  const isSuperusers = before.origin === 'builtin' && before.name === SUPERUSERS;
  if (isSuperusers && before.memberLinks.length > 0 && after.memberLinks.length === 0) {
    throw new ControlRefusal('builtin_resource', `the last member of ${SUPERUSERS} cannot be removed`);
  }
}
