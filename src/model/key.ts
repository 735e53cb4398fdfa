import type { ControlEvent, Read } from './control-events.js';
import { keyStream } from './streams.js';

/** An API key. Only the SHA-256 of its secret is known; it is the stream's name. */
export interface KeyState {
  readonly id: string;
  readonly org: string;
  /** Link of the service account or user that the key speaks for. */
  readonly principal: string;
  readonly description: string;
  readonly issued: string;
  /** From this instant on the key is worth nothing. */
  readonly expires?: string;
}

interface KeyIssued {
  readonly type: 'key-issued' | 'key-revoked';
  readonly stream: `key/${string}`;
  readonly auditId: string;
  readonly data: KeyState;
}

export type KeyEvent = KeyIssued;

export function evolveKey(_state: KeyState | undefined, event: KeyEvent): KeyState | undefined {
  return event.type === 'key-revoked' ? undefined : event.data;
}

export function keyIssued(hash: string, data: KeyState, auditId: string): ControlEvent {
  return { type: 'key-issued', stream: keyStream(hash), auditId, data };
}

/** All keys that speak for the principal, or one of them, as revoked. */
export function keysRevoked(read: Read, principal: string, nextId: () => string, id?: string): ControlEvent[] {
  return read
    .keysOf(principal)
    .flatMap(({ stream, state }) =>
      id === undefined || state.id === id
        ? [{ type: 'key-revoked', stream, auditId: nextId(), data: state } as const]
        : [],
    );
}
