import { linkTo } from '../contract/links.js';

/** What a caller says of a service account. */
export interface ServiceAccountDocument {
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
}

export function serviceAccountLink(org: string, name: string): string {
  return linkTo(org, 'serviceaccount', name);
}
