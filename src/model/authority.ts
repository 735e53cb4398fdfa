import { kindOf } from '../contract/kinds.js';
import { linkTo, nameOf } from '../contract/links.js';
import { type AccessRules, type Principal, principalOf, type Reach } from './access.js';
import type { Read } from './control-events.js';
import type { PermissionName, TargetKind } from './permission.js';
import { userOf } from './principals.js';
import { lacksText } from './refusal.js';
import { authzStream } from './streams.js';
import { userLink } from './user.js';

/** A permission that a request needs, and on what. */
interface Need {
  readonly kind: TargetKind;
  readonly permission: PermissionName;
  /**
   * `all`: on every resource of the kind; `some`: on any of them; else on the one with this reference. With `orSelf` the
   * caller needs no permission if it is that one itself.
   */
  readonly on: 'all' | 'some' | { readonly ref: string; readonly orSelf?: boolean };
}

/**
 * What a request's access rests on: a key and the permissions that it needs. It can be judged again at any later state.
 * It is never recorded.
 */
export interface Authority {
  readonly org: string;
  /** SHA-256 of the presented key, in hex. */
  readonly keyHash: string;
  /** None where everybody of the organization may do it. */
  readonly needs: readonly Need[];
}

/** Why an authority does not hold, as an error that the caller sees. */
export interface Refused {
  readonly code: 'unauthenticated' | 'forbidden';
  readonly message: string;
}

/** Whether an authority holds at one state. `principal` is set if the key is valid, even if `refused` is set. */
export interface Judgement {
  readonly principal?: Principal;
  readonly refused?: Refused;
  /** On which resources the first need holds; `all` without needs. */
  readonly reach: Reach;
}

/**
 * Reads `key/{hash}` and `authz/{org}`, so that a record whose decision rests on this is void when either has changed since.
 * `rules` gives the rules of the organization at the same state as `read`.
 */
export function judge(authority: Authority, read: Read, rules: () => AccessRules, now: number): Judgement {
  read(authzStream(authority.org));
  const principal = principalOf(read, authority.keyHash, now);
  if (!principal) return { refused: INVALID_KEY, reach: 'all' };
  const { org, needs } = authority;
  if (principal.org !== org) return { principal, refused: outsider(principal), reach: 'all' };
  let first: Reach | undefined;
  for (const need of needs) {
    const reach = rules().reach(principal.link, need.kind, need.permission);
    first ??= reach;
    if (!reachesIt(read, principal, need, reach)) return { principal, refused: lacking(principal, need), reach: first };
  }
  return { principal, reach: first ?? 'all' };
}

export const INVALID_KEY: Refused = {
  code: 'unauthenticated',
  message: 'the key is unknown, expired or revoked; log in again with `svc login`, or send another key',
};

/** The same bytes for every other organization, whether it exists or not. */
function outsider({ org, link }: Principal): Refused {
  const message = `${nameOf(link)} belongs to organization ${org}; use a key of the organization in the path`;
  return { code: 'forbidden', message };
}

/** The same text whether the resource exists or not: it repeats the reference that the request gave. */
function lacking({ org, link }: Principal, { kind, permission, on }: Need): Refused {
  const { plural } = kindOf(kind);
  const target =
    on === 'all' ? `all ${plural}` : on === 'some' ? `any of the ${plural}` : nameOf(linkTo(org, kind, on.ref));
  return { code: 'forbidden', message: `${lacksText(link, org, permission, target)}, or use another key` };
}

function reachesIt(read: Read, { org, link }: Principal, { kind, on }: Need, reach: Reach): boolean {
  if (reach === 'all') return true;
  if (on === 'all') return false;
  if (on === 'some') return reach.size > 0;
  const target = targetOf(read, org, kind, on.ref);
  return reach.has(target) || (on.orSelf === true && target === link);
}

/** The link under which policies name the resource. */
function targetOf(read: Read, org: string, kind: TargetKind, ref: string): string {
  const user = kind === 'user' ? userOf(read, org, ref) : undefined;
  return user ? userLink(org, user.email) : linkTo(org, kind, ref);
}
