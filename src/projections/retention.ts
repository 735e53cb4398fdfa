import type { Logger } from 'pino';
import { SERVICE_CONTEXT } from '../contract/kinds.js';
import { type ControlFold, readFold } from '../control/fold.js';
import { deniedServedFrom, servedFrom } from '../model/auditctx.js';
import { auditContextStream } from '../model/streams.js';
import type { Clock } from '../platform/clock.js';
import type { Metrics } from '../platform/metrics.js';
import { pause } from '../platform/waiting.js';
import { DENIED_ATTEMPTS } from '../read-model/kinds.js';
import type { ReadModel } from '../read-model/read-model.js';
import type { Retention } from '../read-model/retention.js';

const NONE: ReadonlyMap<string, number> = new Map();

/** The present limits by the folded settings of the audit contexts. */
export function foldedRetention(fold: ControlFold, clock: Clock): Retention {
  const read = readFold(fold);
  return {
    limits(kind, org) {
      if (kind !== 'auditevent') return NONE;
      const now = clock.now();
      const limits = new Map(read.all('auditctx', org).map((context) => [context.name, servedFrom(context, now)]));
      return limits.set(DENIED_ATTEMPTS, deniedServedFrom(read(auditContextStream(org, SERVICE_CONTEXT)), now));
    },
    orgs(kind) {
      return kind === 'auditevent' ? read.all('org', '').map(({ name }) => name) : [];
    },
  };
}

/** Expired documents are hidden at once; freeing their space can wait. */
const EVERY_MS = 60_000;

/** Periodically removes expired documents, until the signal aborts. After a fault it waits for the next period. */
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
