import type { Resource } from './resource.js';

export interface ServiceAccountState extends Resource {
  readonly org: string;
  readonly origin: 'default' | 'builtin';
}

interface ServiceAccountCreated {
  readonly type: 'serviceaccount-created';
  readonly stream: `serviceaccount/${string}`;
  readonly auditId: string;
  readonly data: ServiceAccountState;
}

export type ServiceAccountEvent = ServiceAccountCreated;

export function serviceAccountStream(org: string, name: string): `serviceaccount/${string}` {
  return `serviceaccount/${org}/${name}`;
}

export function serviceAccountLink(org: string, name: string): string {
  return `/org/${org}/serviceaccount/${name}`;
}

export function evolveServiceAccount(
  _state: ServiceAccountState | undefined,
  event: ServiceAccountEvent,
): ServiceAccountState {
  return event.data;
}
