import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ControlError } from '../contract/errors.js';
import type { Caller } from '../control/fold.js';
import type { KeyState } from '../model/control-events.js';
import { keyStream } from '../model/streams.js';
import { CLOCK, type Clock } from '../platform/clock.js';
import { IDS, type Ids } from '../platform/ids.js';
import { ServiceSecret } from '../platform/service-secret.js';
import type { Change } from './control-changes.js';
import { SecurityEvents } from './security-events.js';

/** Recognizable in logs and by secret scanners. */
const PREFIX = 'svc_';
const CODE_PREFIX = 'svcinv_';

/** How long a retry returns the key of the first response again. */
const SHOWN_AGAIN_MS = 10 * 60_000;

/** What is stored of a key or code: its SHA-256, in hex. It has 256 random bits, so a plain hash gives nothing away. */
export function keyHash(key: string): string {
  return hash('sha256', key);
}

/** Makes API keys and the codes of invitations. They are shown once; only their hash is kept. */
@Injectable()
export class KeySecrets {
  constructor(
    @Inject(IDS) private readonly ids: Ids,
    private readonly secret: ServiceSecret,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly security: SecurityEvents,
  ) {}

  /**
   * The key that a command issues: a random one, unless the request has an Idempotency-Key. Then it is the same at each
   * retry, on every instance, and nobody without the service secret can compute it. So a retry can return the first response
   * although the key is stored nowhere.
   */
  keyOf(commandId: string, idempotencyKey: string | undefined): string {
    const isRepeatable = idempotencyKey !== undefined;
    return PREFIX + (isRepeatable ? this.secret.derived('key', `key of command ${commandId}`) : this.ids.secret());
  }

  /** The one-time code of an invitation, for whom the command invites. */
  randomCode(): string {
    return CODE_PREFIX + this.ids.secret();
  }

  /** As `keyOf`: a retry sends the same code. */
  derivedCode(commandId: string, email: string): string {
    return CODE_PREFIX + this.secret.derived('key', `code of command ${commandId} for ${email}`);
  }

  /**
   * The key that a command issued, which is shown with its secret this once. A retry shows the key of the first answer, for
   * ten minutes, or none, and is recorded before. Throws `conflict`: the key that the first answer showed stays good.
   */
  async issuedKey({ events, isRetry }: Change, by: Caller, key: string): Promise<KeyState> {
    const stream = keyStream(keyHash(key));
    const [issued] = events.flatMap((event) => (event.type === 'key-issued' && event.stream === stream ? [event] : []));
    if (issued && this.clock.now() - Date.parse(issued.data.issued) <= SHOWN_AGAIN_MS) {
      const { id, org, principal } = issued.data;
      if (isRetry) await this.security.record(by, org, 'show-key', { key: id, principal });
      return issued.data;
    }
    const reason = issued
      ? `it was issued more than ${SHOWN_AGAIN_MS / 60_000} minutes ago`
      : 'the service derives keys from another secret by now';
    const remedy = 'if nobody has it, remove it and have another issued';
    throw new ControlError('conflict', `the key cannot be shown again, because ${reason}; ${remedy}`);
  }
}
