import { linkTo } from '../contract/links.js';
import type { Resource, ResourceEvent } from './resource.js';

/** A user is known by the e-mail address, in lower case; it does not change. `name` is the full name. */
export interface UserState extends Resource {
  readonly org: string;
  readonly email: string;
  /** The identity provider that vouches for the address. */
  readonly idp: string;
}

/** What a caller may change. */
export interface UserDocument {
  readonly name: string;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
}

export type UserEvent = ResourceEvent<'user', UserState>;

/** Users who proved the address by an invitation. */
export const INVITED_IDP = 'invitation';

export function userLink(org: string, email: string): string {
  return linkTo(org, 'user', email);
}
