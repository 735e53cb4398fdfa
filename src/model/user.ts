import { linkTo } from '../contract/links.js';

/** What a caller may change. */
export interface UserDocument {
  readonly name: string;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** Users who proved the address by an invitation. */
export const INVITED_IDP = 'invitation';

export function userLink(org: string, email: string): string {
  return linkTo(org, 'user', email);
}
