import { LIMITS } from '../contract/limits.js';
import { linkTo } from '../contract/links.js';
import type { GroupDocument, GroupEvent, GroupState, Read } from './control-events.js';
import { isSameJson, type Json, patchedList } from './json.js';
import { type MemberQuery, selfSetFaults } from './member-query.js';
import { checkMemberLinks } from './members.js';
import { isPrincipal } from './policy.js';
import { memberLink, usersOf } from './principals.js';
import { ControlRefusal, tooMuchAtOnce } from './refusal.js';
import { revised } from './resource.js';
import { groupStream } from './streams.js';
import { SUPERUSERS } from './superusers.js';

export const VIEWERS = 'viewers';

export function groupLink(org: string, name: string): string {
  return linkTo(org, 'group', name);
}

/** Operators name members by any of their links: one user has several, by e-mail address and by id. */
export const groupRules = {
  gives: ['create', 'edit', 'delete'],
  keepsBuiltin: true,
  expand(read: Read, { org, memberLinks }: GroupState, patch: Json) {
    const findUser = usersOf(read, org);
    const known = new Set(memberLinks);
    const keyOf = (link: string) => (known.has(link) ? link : (memberLink(read, org, link, findUser) ?? link));
    const patched = patchedList(memberLinks, patch['memberLinks'], '/memberLinks', keyOf);
    if (!patched) return { patch, faults: [] };
    return { patch: { ...patch, memberLinks: patched.list }, faults: patched.faults };
  },
  settle(read: Read, org: string, document: GroupDocument, before?: GroupState): GroupDocument {
    const memberLinks = checkMemberLinks(read, org, document.memberLinks, before?.memberLinks);
    if (before) refuseSelfSet(read, before, document.memberQuery);
    return { ...document, memberLinks };
  },
  refuseEdit: refuseNoSuperuser,
  action: memberAction,
} as const;

/** A query from before there was this rule may stay as it is: else nobody could be taken out of the group. */
function refuseSelfSet(read: Read, before: GroupState, query: MemberQuery | undefined): void {
  const faults = selfSetFaults(query);
  if (faults.length === 0 || isSameJson(query, before.memberQuery)) return;
  if (!isPrincipal(read, before.org, groupLink(before.org, before.name))) return;
  throw new ControlRefusal('validation_failed', 'members would let themselves in', faults);
}

function groupEdited(data: GroupState, auditId: string, action?: string): GroupEvent {
  const stream = groupStream(data.org, data.name);
  return { type: 'group-edited', stream, auditId, data, ...(action !== undefined && { action }) };
}

/** What the audit log calls a change of nothing but the linked members, by which some came or some went. */
function memberAction(before: GroupState, after: GroupState): 'add-member' | 'remove-member' | undefined {
  const others = ({ memberLinks: _memberLinks, version: _version, lastModified: _lastModified, ...rest }: GroupState) =>
    rest;
  if (!isSameJson(others(before), others(after))) return undefined;
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

/**
 * The groups that lose a member, as events of their own. Throws where that member is the last superuser, and for more groups
 * than one record could hold.
 */
export function groupsWithout(read: Read, org: string, link: string, at: string, nextId: () => string): GroupEvent[] {
  const groups = read.naming('group', link).filter((group) => group.org === org);
  let size = groups.length * EVENT_SIZE;
  return groups.map((before) => {
    for (const { length } of before.memberLinks) size += length;
    if (size > MOST_CHANGED) throw new ControlRefusal('conflict', tooMuchAtOnce(groups.length));
    const memberLinks = before.memberLinks.filter((member) => member !== link);
    const after: GroupState = { ...before, memberLinks, version: before.version + 1, lastModified: at };
    refuseNoSuperuser(before, after);
    return groupEdited(after, nextId(), 'remove-member');
  });
}

/** Characters: at least in an event without its links, and at most in all of them. No log takes a record as large. */
const EVENT_SIZE = 300;
const MOST_CHANGED = 1024 * 1024;

function refuseNoSuperuser(before: GroupState, after: GroupState): void {
  const isSuperusers = before.origin === 'builtin' && before.name === SUPERUSERS;
  if (isSuperusers && before.memberLinks.length > 0 && after.memberLinks.length === 0) {
    throw new ControlRefusal('builtin_resource', `the last member of ${SUPERUSERS} cannot be removed`);
  }
}
