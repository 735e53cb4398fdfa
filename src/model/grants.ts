import { linkTo, nameOf, parseLink } from '../contract/links.js';
import { AccessRules } from './access.js';
import type { ControlEvent, GroupState, Read } from './control-events.js';
import { type Given, givenTo, missingOf, newlyGiven } from './given.js';
import { isQueryNew, selfSetTerms } from './member-query.js';
import { permissionsOn, type TargetKind } from './permission.js';
import { ControlRefusal, lacksText, type Missing } from './refusal.js';
import type { Occasion } from './resource.js';
import { refuseSelfTagged } from './self-tagged.js';
import { readAfter } from './state-after.js';
import { finished, type Steps } from './steps.js';
import { authzStream, groupStream, policyStream } from './streams.js';

/** Holds nothing: no link is empty. */
export const NOBODY = '';

/**
 * Throws `forbidden` when the events of a change would give anybody a permission that the granter does not have on the
 * same resources, by the same permission or by `manage`, and `validation_failed` when somebody would get one by a tag that
 * it can set on itself. Every decision that can give something calls it with all its
 * events: it compares the state before them with the state after them, so it does not matter how something is given.
 */
export function* refuseGrants(
  read: Read,
  { org, granter }: Pick<Occasion, 'granter'> & { readonly org: string },
  events: readonly ControlEvent[],
): Steps<void> {
  if (granter === null) return;
  const rules = rulesOf(read, org);
  const missing = yield* missingForEvents(read, rules, org, granter, events);
  if (missing) throw lacking(missing, rules, org, granter, 'which this change would give');
  yield* refuseSelfTagged(read, rules, { org, granter }, events);
}

/** Throws `forbidden` when a key of the principal would let the granter do what it may not do itself. */
export function refuseKeyFor(read: Read, granter: Occasion['granter'], principal: string): void {
  const { org } = parseLink(principal) ?? {};
  if (granter === null || granter === principal || org === undefined) return;
  const rules = rulesOf(read, org);
  const given = [...rules.namesOf(principal)].flatMap((name) => givenTo(rules, name));
  const missing = missingOf(rules, granter, given);
  if (missing) throw lacking(missing, rules, org, granter, 'which the key would give');
}

/** What somebody lacks to bring about these events and to have what they need besides; undefined when it is nothing. */
export function missingFor(
  read: Read,
  org: string,
  granter: string,
  events: readonly ControlEvent[],
  needed: readonly Given[] = [],
): Missing | undefined {
  const rules = rulesOf(read, org);
  return missingOf(rules, granter, needed) ?? finished(missingForEvents(read, rules, org, granter, events));
}

/** The refusal names what the granter lacks, but no resource that the granter may not view. */
export function refusalOf(read: Read, org: string, granter: string, missing: Missing, why: string): ControlRefusal {
  return lacking(missing, rulesOf(read, org), org, granter, why);
}

/**
 * The decision goes through all policies and groups: it rests on `authz/{org}`, which every change of any of them moves.
 */
function rulesOf(read: Read, org: string): AccessRules {
  read(authzStream(org));
  return new AccessRules(read, org);
}

function* missingForEvents(
  read: Read,
  rules: AccessRules,
  org: string,
  granter: string,
  events: readonly ControlEvent[],
): Steps<Missing | undefined> {
  const said = events.flatMap((event): readonly Given[] => {
    if (event.type === 'policy-created' || event.type === 'policy-edited') {
      return newlyGiven(read(policyStream(org, event.data.name)), event.data);
    }
    if (event.type === 'group-created' || event.type === 'group-edited') {
      const widened = isWidened(read(groupStream(org, event.data.name)), event.data);
      return widened ? givenTo(rules, linkTo(org, 'group', event.data.name)) : [];
    }
    return [];
  });
  return missingOf(rules, granter, said) ?? (yield* missingForMatches(read, rules, org, granter, events));
}

/** Whether others may be members than before: by a new link, or by another query. */
function isWidened(before: GroupState | undefined, after: GroupState): boolean {
  const known = new Set(before?.memberLinks);
  if (after.memberLinks.some((link) => !known.has(link))) return true;
  return isQueryNew(before?.memberQuery, after.memberQuery);
}

/** What is lacking where the events make a user match the query of a group that policies name. */
function* missingForMatches(
  read: Read,
  rules: AccessRules,
  org: string,
  granter: string,
  events: readonly ControlEvent[],
): Steps<Missing | undefined> {
  const users = usersConcerned(read, org, events);
  if (users.size === 0) return undefined;
  const after = new AccessRules(readAfter(read, events), org);
  for (const [user, { isNew }] of users) {
    yield;
    for (const group of after.matchedBy(user)) {
      const link = linkTo(org, 'group', group.name);
      if (rules.isMember(user, link)) continue;
      const given = givenTo(after, link);
      if (isNew && readsSelfSet(group) && missingOf(rules, NOBODY, given)) throw letsItselfIn(org);
      const missing = missingOf(rules, granter, given);
      if (missing) return missing;
    }
  }
  return undefined;
}

function readsSelfSet({ memberQuery }: GroupState): boolean {
  return selfSetTerms(memberQuery).length > 0;
}

/** What a new user chose is the user's own doing, and a new user has nothing to give. */
function letsItselfIn(org: string): ControlRefusal {
  return new ControlRefusal(
    'forbidden',
    'the memberQuery of a group that policies name reads what users choose themselves, and the new user would match it; ' +
      `ask an administrator of ${org} to change the query`,
  );
}

/**
 * The users whose matches the events may change: those that are made or edited, and those that come into a group or leave
 * one, because queries read the groups that link a user. Nobody else: a query reads nothing but its user.
 */
function usersConcerned(
  read: Read,
  org: string,
  events: readonly ControlEvent[],
): ReadonlyMap<string, { readonly isNew: boolean }> {
  const users = new Map<string, { readonly isNew: boolean }>();
  for (const event of events) {
    if (event.type === 'user-created' || event.type === 'user-edited') {
      users.set(linkTo(org, 'user', event.data.email), { isNew: event.type === 'user-created' });
    }
    if (event.type !== 'group-created' && event.type !== 'group-edited' && event.type !== 'group-deleted') continue;
    const before = read(groupStream(org, event.data.name))?.memberLinks ?? [];
    const after = event.type === 'group-deleted' ? [] : event.data.memberLinks;
    for (const link of exclusive(before, after)) {
      if (parseLink(link)?.kind === 'user' && !users.has(link)) users.set(link, { isNew: false });
    }
  }
  return users;
}

/** What is in one of the lists only. */
function exclusive(one: readonly string[], other: readonly string[]): readonly string[] {
  const [first, second] = [new Set(one), new Set(other)];
  return [...one.filter((link) => !second.has(link)), ...other.filter((link) => !first.has(link))];
}

function lacking(missing: Missing, rules: AccessRules, org: string, granter: string, why: string): ControlRefusal {
  const { kind, permission, target } = missing;
  const isKnown = target !== undefined && knows(rules, granter, kind, target);
  const on = isKnown
    ? nameOf(target)
    : target === undefined
      ? `every ${kind}`
      : `${kind === 'auditctx' ? 'an' : 'a'} ${kind} that it may not view`;
  const message = lacksText(granter, org, permission, `${on}, ${why}`);
  return new ControlRefusal('forbidden', message, [], { kind, permission, ...(isKnown && { target }) });
}

function knows(rules: AccessRules, granter: string, kind: TargetKind, target: string): boolean {
  return permissionsOn(kind).some(({ name }) => {
    const reach = rules.reach(granter, kind, name);
    return reach === 'all' || reach.has(target);
  });
}
