import { isSameJson } from './json.js';
import { type Candidate, matches, type QuerySpec, type Term } from './query.js';
import type { Fault } from './refusal.js';
import { isBuiltinTag, type Resource } from './resource.js';

/** Users who match are members of the group, in addition to linked members, for as long as they match. */
export interface MemberQuery {
  readonly kind: 'user';
  readonly fetch: 'items';
  readonly spec: QuerySpec;
}

/** Of a user, what nobody sets for himself: the inviter chooses the address, the service all else. */
const GIVEN_BY_OTHERS = ['email', 'idp', 'id', 'created'];

/** The terms that read what members may set themselves, by their places. Tags are set by editors of the user. */
export function selfSetTerms(
  query: MemberQuery | undefined,
): readonly { readonly at: number; readonly name: string }[] {
  return (query?.spec.terms ?? []).flatMap(({ property }: Term, at) =>
    property === undefined || GIVEN_BY_OTHERS.includes(property) || isTag(property) ? [] : [{ at, name: property }],
  );
}

function isTag(property: string): boolean {
  return property === 'tags' || property.startsWith('tags.');
}

/** A group that policies name must not let anybody in for what he says of himself. */
export function selfSetFaults(query: MemberQuery | undefined): Fault[] {
  return selfSetTerms(query).map(({ at, name }) => ({
    pointer: `/memberQuery/spec/terms/${at}/property`,
    reason: `must not be ${name}: a policy names this group, and members set it themselves; use ${ALLOWED}`,
  }));
}

/** Of a group that a policy is to name; undefined where it may. */
export function selfSetReason(query: MemberQuery | undefined): string | undefined {
  const [first] = selfSetTerms(query);
  if (!first) return undefined;
  return `must not be this group: its memberQuery reads ${first.name}, which members set themselves; let it use ${ALLOWED}`;
}

/** Whether there is a query, and it is not the one that there was. */
export function isQueryNew(before: MemberQuery | undefined, after: MemberQuery | undefined): boolean {
  return after !== undefined && !isSameJson(after, before);
}

/** Whether any term reads a tag that editors of a user can set. */
export function readsTags({ spec: { terms = [] } }: MemberQuery): boolean {
  return terms.some(readsTag);
}

/** False for users who do not match by tags (`isMatchedByTags`), told by their tags alone; true for some of them as well. */
export function mayMatchByTags({ spec: { match = 'all', terms = [] } }: MemberQuery, tags: Resource['tags']): boolean {
  return matches({ match, terms: terms.filter(readsTag) }, { resource: { tags }, related: () => false });
}

/** Whether the user matches, and might not with other tags. */
export function isMatchedByTags({ spec }: MemberQuery, user: Candidate): boolean {
  const { match, terms = [] } = spec;
  const others = terms.filter((term) => !readsTag(term));
  if (others.length === terms.length || !matches(spec, user)) return false;
  return match !== 'any' || !matches({ match, terms: others }, user);
}

/** Tags of the service itself are set by nobody else. */
function readsTag({ tag, property = '' }: Term): boolean {
  const name = tag ?? (property.startsWith('tags.') ? property.slice('tags.'.length) : undefined);
  return name !== undefined && !isBuiltinTag(name);
}

const ALLOWED = `${GIVEN_BY_OTHERS.join(', ')}, a tag or rel group`;
