import type { ControlEvent } from '../model/control-events.js';
import { ControlRefusal } from '../model/refusal.js';
import { type ControlFold, versionOf } from './fold.js';

/**
 * The key of a request with an Idempotency-Key follows from it, so a request that is repeated when its command is no
 * longer known would issue the same key again, also when it was revoked since. Throws `conflict`.
 */
export function refuseUsedKeys(fold: ControlFold, events: readonly ControlEvent[]): void {
  const isUsed = events.some(({ type, stream }) => type === 'key-issued' && versionOf(fold, stream) > 0);
  if (!isUsed) return;
  const message =
    'this Idempotency-Key was used for the same request more than 24 hours ago; the key that was issued then is not ' +
    'issued again. Use a new Idempotency-Key';
  throw new ControlRefusal('conflict', message);
}
