import { authzStream } from './streams.js';

/** Bumped by every change of what anyone in an organization may do: decisions that rest on permissions read it. */
export interface AuthzState {
  readonly changes: number;
}

export interface AuthzEvent {
  readonly type: 'authz-changed';
  readonly stream: `authz/${string}`;
}

export function authzChanged(org: string): AuthzEvent {
  return { type: 'authz-changed', stream: authzStream(org) };
}

export function evolveAuthz(state: AuthzState | undefined, _event: AuthzEvent): AuthzState {
  return { changes: (state?.changes ?? 0) + 1 };
}
