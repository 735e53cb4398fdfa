import { createHmac, hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ControlError } from '../errors.js';
import type { Ids } from '../ids.js';
import type { ControlEvent } from '../model/control-events.js';
import type { KeyState } from '../model/key.js';
import { keyStream } from '../model/streams.js';
import { IDS, ROOT_KEY } from '../tokens.js';

/** Recognizable in logs and by secret scanners. */
const PREFIX = 'svc_';
const CODE_PREFIX = 'svcinv_';

/** What is stored of a key or code: its SHA-256, in hex. It has 256 random bits, so a plain hash gives nothing away. */
export function keyHash(key: string): string {
  return hash('sha256', key);
}

/** Makes API keys and the codes of invitations. They are shown once; only their hash is kept. */
@Injectable()
export class KeySecrets {
  constructor(
    @Inject(IDS) private readonly ids: Ids,
    @Inject(ROOT_KEY) private readonly rootKey: string,
  ) {}

  random(): string {
    return PREFIX + this.ids.secret();
  }

  /**
   * The key of a command that may be retried: the same at each retry, on every instance, and found out by nobody
   * without the root key. So a retry can give the first answer although the key is stored nowhere.
   */
  derived(commandId: string): string {
    return PREFIX + this.mac(`key of command ${commandId}`);
  }

  /** The one-time code of an invitation, for whom the command invites. */
  randomCode(): string {
    return CODE_PREFIX + this.ids.secret();
  }

  /** As `derived`: a retry sends the same code. */
  derivedCode(commandId: string, email: string): string {
    return CODE_PREFIX + this.mac(`code of command ${commandId} for ${email}`);
  }

  private mac(text: string): string {
    return createHmac('sha256', this.rootKey).update(text).digest('base64url');
  }
}

/** The key that a command issued, which is shown with its secret this once. Throws as `requireSameKey`. */
export function issuedKey(events: readonly ControlEvent[], key: string): KeyState {
  requireSameKey(events, key);
  const [state] = events.flatMap((event) => (event.type === 'key-issued' ? [event.data] : []));
  if (!state) throw new Error('the command issued no key');
  return state;
}

/** A retry shows the key of the first answer, or none. Throws `conflict`. */
export function requireSameKey(events: readonly ControlEvent[], key: string): void {
  if (events.some((event) => event.stream === keyStream(keyHash(key)))) return;
  throw new ControlError('conflict', 'the key cannot be shown again, because the root key was changed since');
}
