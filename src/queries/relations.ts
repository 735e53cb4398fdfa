import { linkTo, parseLink } from '../contract/links.js';
import type { GroupDocument } from '../model/control-events.js';
import { memberCandidate, refIn } from '../model/members.js';
import { matches, type QuerySpec } from '../model/query.js';
import type { View, ViewKind } from '../model/views.js';
import type { ReadModel } from '../read-model/read-model.js';
import type { Reading } from './reading.js';
import { findResource } from './resource-get.js';

/** Whether a resource, by its reference and view, is related to what a value names. */
export type Relation = (ref: string, resource: View, value: string) => boolean;

type GroupView = Pick<GroupDocument, 'memberLinks' | 'memberQuery'>;

/** Whether the caller may view what a link names. */
export type MayView = (link: string) => boolean;

/**
 * Of users, `group`: belongs to the group of this name. Of groups, `member`: has the user (by e-mail address or id) or the
 * service account as a member. All may be named by their links, too. Membership by link and by query count alike. What the
 * caller may not view is as if it were not there.
 */
export async function relationsOf(
  reading: Reading,
  kind: ViewKind,
  org: string,
  spec: QuerySpec,
  mayView: MayView,
): Promise<Relation> {
  const values = relationValues(spec);
  if (values.length > 0 && kind === 'user') return usersOfGroups(reading.model, org, values, mayView);
  if (values.length > 0 && kind === 'group') return groupsOfMembers(reading, org, values, mayView);
  return () => false;
}

function relationValues({ terms = [] }: QuerySpec): readonly string[] {
  return [...new Set(terms.flatMap(({ rel, value }) => (rel === undefined ? [] : [String(value)])))];
}

async function usersOfGroups(
  model: ReadModel,
  org: string,
  values: readonly string[],
  mayView: MayView,
): Promise<Relation> {
  const groups = new Map<string, GroupView>();
  const load = async (value: string) => {
    const name = refIn(org, 'group', value);
    const found = name === undefined || groups.has(name) ? undefined : await model.get('group', org, name);
    if (name !== undefined && found) groups.set(name, JSON.parse(found.source));
  };
  for (const value of values) await load(value);
  const named = [...groups.values()].flatMap(({ memberQuery }) => relationValues(memberQuery?.spec ?? {}));
  for (const value of named) await load(value);
  return (ref, resource, value) => {
    const link = linkTo(org, 'user', ref);
    const isLinkedBy = (name: string) => groups.get(name)?.memberLinks.includes(link) ?? false;
    const name = refIn(org, 'group', value) ?? '';
    const group = mayView(linkTo(org, 'group', name)) ? groups.get(name) : undefined;
    return group !== undefined && hasMember(group, org, { link, user: resource, isLinkedBy });
  };
}

interface Member {
  readonly link: string;
  /** The view of a user; only users match queries. */
  readonly user?: View;
  readonly isLinkedBy: (group: string) => boolean;
}

async function groupsOfMembers(
  reading: Reading,
  org: string,
  values: readonly string[],
  mayView: MayView,
): Promise<Relation> {
  const members = new Map<string, Member>();
  const linkedBy = new Map<string, Set<string>>();
  for (const value of values) {
    const { link, user } = await memberOf(reading.model, org, value);
    if (!mayView(link)) continue;
    const groups = linkedBy.get(link) ?? new Set();
    linkedBy.set(link, groups);
    members.set(value, { link, ...(user && { user }), isLinkedBy: (name) => groups.has(name) });
  }
  await reading.each('group', ({ id, source }) => {
    for (const link of (JSON.parse(source) as GroupView).memberLinks) linkedBy.get(link)?.add(id);
    return 'on';
  });
  return (_ref, resource, value) => {
    const member = members.get(value);
    return member !== undefined && hasMember(resource as unknown as GroupView, org, member);
  };
}

/** A user by e-mail address, id or link, or else a service account by name or link. */
async function memberOf(model: ReadModel, org: string, value: string): Promise<Pick<Member, 'link' | 'user'>> {
  const email = refIn(org, 'user', value);
  const user = email === undefined ? undefined : await findResource(model, 'user', org, email);
  if (user) return { link: linkTo(org, 'user', user.id), user: JSON.parse(user.source) };
  return { link: parseLink(value) ? value : linkTo(org, 'serviceaccount', value) };
}

function hasMember({ memberLinks, memberQuery }: GroupView, org: string, { link, user, isLinkedBy }: Member): boolean {
  if (memberLinks.includes(link)) return true;
  if (!user || !memberQuery) return false;
  return matches(memberQuery.spec, memberCandidate(org, user, isLinkedBy));
}
