import { linkTo } from '../contract/links.js';
import type { Origin, Resource, ResourceEvent } from './resource.js';

/** What a caller says of a service account. */
export interface ServiceAccountDocument {
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface ServiceAccountState extends Resource {
  readonly org: string;
  readonly origin: Origin;
}

export type ServiceAccountEvent = ResourceEvent<'serviceaccount', ServiceAccountState>;

export function serviceAccountLink(org: string, name: string): string {
  return linkTo(org, 'serviceaccount', name);
}
