import { LIMITS } from '../contract/limits.js';
import { parseLink } from '../contract/links.js';
import type { Read } from './control-events.js';
import { memberLink, usersOf } from './principals.js';
import type { Candidate } from './query.js';
import { ControlRefusal, type Fault } from './refusal.js';

/**
 * The links as they are kept, none twice. Those that the group has already need no check. Throws `validation_failed` for a
 * link to what does not exist, naming its place, and for too many.
 */
export function checkMemberLinks(
  read: Read,
  org: string,
  links: readonly string[],
  known: readonly string[] = [],
): readonly string[] {
  const faults: Fault[] = [];
  const kept = new Set<string>();
  const findUser = usersOf(read, org);
  const members = new Set(known);
  for (const [index, link] of links.entries()) {
    const found = members.has(link) ? link : memberLink(read, org, link, findUser);
    if (found === undefined) faults.push({ pointer: `/memberLinks/${index}`, reason: REASON });
    else kept.add(found);
  }
  if (kept.size > LIMITS.members) {
    faults.push({ pointer: '/memberLinks', reason: `may have at most ${LIMITS.members} links` });
  }
  if (faults.length > 0) throw new ControlRefusal('validation_failed', 'not every member can be one', faults);
  return [...kept];
}

const REASON = 'must be the link of a user or service account of this organization that exists';

/**
 * What the query of a group looks at: a user, by the view that everybody sees. `rel` `group` names a group that links the
 * user; groups by query are not looked into: they could name each other.
 */
export function memberCandidate(
  org: string,
  user: Candidate['resource'],
  isLinkedBy: (group: string) => boolean,
): Candidate {
  return {
    resource: user,
    related(rel, value) {
      const group = rel === 'group' ? refIn(org, 'group', value) : undefined;
      return group !== undefined && isLinkedBy(group);
    },
  };
}

/** What a value of a query names, by its reference alone or by its link; undefined for the link of anything else. */
export function refIn(org: string, kind: string, value: string): string | undefined {
  const link = parseLink(value);
  if (!link) return value;
  return link.org === org && link.kind === kind ? link.ref : undefined;
}
