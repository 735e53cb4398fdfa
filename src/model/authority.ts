import { linkTo } from '../contract/links.js';
import { type AccessRules, type Principal, principalOf, type Reach } from './access.js';
import type { Read } from './control-events.js';
import type { PermissionName, TargetKind } from './permission.js';
import { userOf } from './principals.js';
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

/** What an authority amounts to at one state. `principal` is set if the key is valid, also when `refused`. */
export interface Judgement {
  readonly principal?: Principal;
  readonly refused?: 'unauthenticated' | 'forbidden';
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
  if (!principal) return { refused: 'unauthenticated', reach: 'all' };
  const { org, needs } = authority;
  if (principal.org !== org) return { principal, refused: 'forbidden', reach: 'all' };
  let first: Reach | undefined;
  for (const need of needs) {
    const reach = rules().reach(principal.link, need.kind, need.permission);
    first ??= reach;
    if (!reachesIt(read, principal, need, reach)) return { principal, refused: 'forbidden', reach: first };
  }
  return { principal, reach: first ?? 'all' };
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
