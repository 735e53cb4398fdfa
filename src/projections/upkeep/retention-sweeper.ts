import type { Logger } from 'pino';
import type { Metrics } from '../../platform/metrics.js';
import { pause } from '../../platform/waiting.js';
import type { ReadModel } from '../../read-model/read-model.js';

/** Expired documents are hidden at once; their room may wait. */
const EVERY_MS = 60_000;

/** Frees the room of expired documents now and then, until the signal aborts. A fault waits for the next time. */
export async function sweepExpired(
  model: ReadModel,
  metrics: Metrics,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await pause(EVERY_MS, signal, { ref: false });
    if (signal.aborted) return;
    try {
      const removed = await model.sweep(signal);
      metrics.swept(removed);
      if (removed > 0) logger.info({ removed }, 'expired events removed from the read model');
    } catch (error) {
      logger.error({ err: error }, 'expired events could not be removed from the read model; trying again later');
    }
  }
}
