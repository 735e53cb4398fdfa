import type { Logger } from 'pino';
import type { Maintenance } from '../commands/upkeep.js';
import type { Jobs } from '../commands/upkeep-jobs.js';
import { ControlError } from '../contract/errors.js';
import type { Topic } from '../event-log/event-log.js';
import { pause } from '../platform/waiting.js';
import type { ProjectionRunner } from '../projections/projection-runner.js';
import type { Store } from './store.js';

/** How often it looks, and how long after a rebuild that failed the next begins, in milliseconds. */
const PACE = { look: 1_000, retry: 30_000 };

/**
 * Rebuilds a read model that an earlier version made, while that one serves. Of several processes the one does it that
 * carries the only partition of `control`; if another takes the partition over, its rebuild replaces the first. Resolves
 * when the signal aborts.
 */
export async function rebuildOutdated(
  store: Pick<Store, 'isOutdated'>,
  projections: ReadonlyMap<Topic, Pick<ProjectionRunner, 'indexed'>>,
  jobs: Jobs,
  maintenance: Maintenance,
  logger: Logger,
  signal: AbortSignal,
  pace = PACE,
): Promise<void> {
  while (!signal.aborted) {
    await pause(pace.look, signal);
    const carries = Object.keys(projections.get('control')?.indexed ?? {}).length > 0;
    if (signal.aborted || !carries || !store.isOutdated()) continue;
    try {
      jobs.start('rebuild', (tell, abort) => maintenance.rebuild(tell, abort));
    } catch (error) {
      // Another job runs. If it is a rebuild, this one is not needed.
      if (!(error instanceof ControlError)) throw error;
      continue;
    }
    logger.warn('an earlier version made the read model; a new one is filled beside it and takes its place');
    while (!signal.aborted && jobs.state('rebuild').state === 'running') await pause(pace.look, signal);
    if (jobs.state('rebuild').state === 'failed') await pause(pace.retry, signal);
  }
}
