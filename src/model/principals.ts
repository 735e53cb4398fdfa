import { linkTo, parseLink } from '../contract/links.js';
import type { Read, UserState } from './control-events.js';
import { groupStream, serviceAccountStream, userStream } from './streams.js';

/** Finds a user by the e-mail address, in any case, or by the id. */
export type FindUser = (ref: string) => UserState | undefined;

export function userOf(read: Read, org: string, ref: string): UserState | undefined {
  return usersOf(read, org)(ref);
}

/** For many at one state: all users are gone through once at most. */
export function usersOf(read: Read, org: string): FindUser {
  let byId: ReadonlyMap<string, UserState> | undefined;
  return (ref) => {
    const known = read(userStream(org, ref.toLowerCase()));
    if (known) return known;
    byId ??= new Map(read.all('user', org).map((user) => [user.id, user]));
    return byId.get(ref.toLowerCase());
  };
}

/** The link of a user or service account that exists, as it is kept: users by e-mail address. Undefined for all others. */
export function memberLink(
  read: Read,
  org: string,
  link: string,
  findUser: FindUser = usersOf(read, org),
): string | undefined {
  const parsed = parseLink(link);
  if (parsed?.org !== org) return undefined;
  const { kind, ref } = parsed;
  if (kind === 'serviceaccount') return read(serviceAccountStream(org, ref)) && linkTo(org, kind, ref);
  const user = kind === 'user' ? findUser(ref) : undefined;
  return user && linkTo(org, 'user', user.email);
}

/** As `memberLink`, groups included. */
export function principalLink(read: Read, org: string, link: string, findUser?: FindUser): string | undefined {
  const parsed = parseLink(link);
  if (parsed?.org === org && parsed.kind === 'group') {
    return read(groupStream(org, parsed.ref)) && linkTo(org, 'group', parsed.ref);
  }
  return memberLink(read, org, link, findUser);
}
