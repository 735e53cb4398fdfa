import { linkTo, parseLink } from '../contract/links.js';
import { AccessRules } from './access.js';
import type { ControlEvent, GroupState, PolicyDocument, Read } from './control-events.js';
import { type Given, givenTo, missingOf, newlyGivenTo } from './given.js';
import { isMatchedByTags, isQueryNew, type MemberQuery, mayMatchByTags, readsTags } from './member-query.js';
import { ControlRefusal, type Fault } from './refusal.js';
import { readAfter } from './state-after.js';
import type { Steps } from './steps.js';
import { groupStream, policyStream } from './streams.js';

/** A group whose matching users get something by a change, and where the change says so. */
interface Gain {
  readonly memberQuery: MemberQuery;
  /** They get it by their links, whatever they match. */
  readonly memberLinks: readonly string[];
  readonly given: readonly Given[];
  readonly pointer: string;
}

/**
 * Throws `validation_failed` when the events give something to a group, or a query to a group that is given something, and
 * a user would get it by a tag that it can set on itself. Before such a change nothing stops users from setting that tag.
 * A user that has what is given already gains nothing. Looks at all users once, and only for a change of that kind.
 */
export function* refuseSelfTagged(
  read: Read,
  before: AccessRules,
  { org, granter }: { readonly org: string; readonly granter: string },
  events: readonly ControlEvent[],
): Steps<void> {
  const gains = events.flatMap((event) => gainsOf(read, before, org, event));
  if (gains.length === 0) return;
  const found = yield* selfTagged(read, before, new AccessRules(readAfter(read, events), org), org, gains);
  const known = before.reach(granter, 'user', 'view');
  const faults = [...found].map(([{ pointer }, emails]): Fault => {
    const shown = emails.filter((email) => known === 'all' || known.has(linkTo(org, 'user', email)));
    return { pointer, reason: reasonFor(shown) };
  });
  if (faults.length > 0) {
    throw new ControlRefusal('validation_failed', 'users would let themselves in by their own tags', faults);
  }
}

function gainsOf(read: Read, before: AccessRules, org: string, event: ControlEvent): readonly Gain[] {
  if (event.type === 'policy-created' || event.type === 'policy-edited') {
    return policyGains(read, org, read(policyStream(org, event.data.name)), event.data);
  }
  if (event.type !== 'group-created' && event.type !== 'group-edited') return [];
  const { name, memberQuery } = event.data;
  if (!isQueryNew(read(groupStream(org, name))?.memberQuery, memberQuery)) return [];
  return gainOf(event.data, givenTo(before, linkTo(org, 'group', name)), '/memberQuery');
}

function policyGains(
  read: Read,
  org: string,
  before: PolicyDocument | undefined,
  after: PolicyDocument,
): readonly Gain[] {
  return after.bindings.flatMap(({ principalLinks }, at) =>
    principalLinks.flatMap((link, index) => {
      const { kind, ref = '' } = parseLink(link) ?? {};
      const group = kind === 'group' ? read(groupStream(org, ref)) : undefined;
      return gainOf(group, newlyGivenTo(before, after, link), `/bindings/${at}/principalLinks/${index}`);
    }),
  );
}

function gainOf(group: GroupState | undefined, given: readonly Given[], pointer: string): readonly Gain[] {
  if (!group?.memberQuery || given.length === 0 || !readsTags(group.memberQuery)) return [];
  return [{ memberQuery: group.memberQuery, memberLinks: group.memberLinks, given, pointer }];
}

/** By what they would gain from: the e-mail addresses of those that would. */
function* selfTagged(
  read: Read,
  before: AccessRules,
  after: AccessRules,
  org: string,
  gains: readonly Gain[],
): Steps<ReadonlyMap<Gain, readonly string[]>> {
  const found = new Map<Gain, string[]>();
  for (const user of read.all('user', org)) {
    yield;
    const possible = gains.filter(({ memberQuery }) => mayMatchByTags(memberQuery, user.tags));
    if (possible.length === 0 || !before.hasOnItself(user, 'edit')) continue;
    const link = linkTo(org, 'user', user.email);
    const candidate = after.candidateOf(user);
    for (const gain of possible) {
      if (gain.memberLinks.includes(link) || !isMatchedByTags(gain.memberQuery, candidate)) continue;
      if (!missingOf(before, link, gain.given)) continue;
      const emails = found.get(gain);
      if (emails) emails.push(user.email);
      else found.set(gain, [user.email]);
    }
  }
  return found;
}

const MOST_NAMED = 3;

/** Names nobody where the caller may view none of them. */
function reasonFor(emails: readonly string[]): string {
  const named = emails.slice(0, MOST_NAMED).join(', ');
  const more = emails.length > MOST_NAMED ? `, and ${emails.length - MOST_NAMED} more` : '';
  const who = named === '' ? '' : ` (${named}${more})`;
  return (
    `must not let in users who match the memberQuery of the group by tags that they can set on themselves${who}; ` +
    'take the tag from them, link them as members, or let the query read email, idp or created'
  );
}
