import type { AuthzEvent, AuthzState } from './control-events.js';
import { authzStream } from './streams.js';

export function authzChanged(org: string): AuthzEvent {
  return { type: 'authz-changed', stream: authzStream(org) };
}

export function evolveAuthz(state: AuthzState | undefined, _event: AuthzEvent): AuthzState {
  return { changes: (state?.changes ?? 0) + 1 };
}
