/** An API key. Only the SHA-256 of its secret is known; it is the stream's name, so looking a key up is one step. */
export interface KeyState {
  readonly id: string;
  readonly org: string;
  /** Link of the service account or user that the key speaks for. */
  readonly principal: string;
  readonly description: string;
  readonly issued: string;
}

interface KeyIssued {
  readonly type: 'key-issued';
  readonly stream: `key/${string}`;
  readonly auditId: string;
  readonly data: KeyState;
}

export type KeyEvent = KeyIssued;

export function keyStream(hash: string): `key/${string}` {
  return `key/${hash}`;
}

export function evolveKey(_state: KeyState | undefined, event: KeyEvent): KeyState {
  return event.data;
}
