import type { Logger } from 'pino';
import type { Maintenance } from '../commands/upkeep.js';
import type { Jobs } from '../commands/upkeep-jobs.js';
import { ControlError } from '../contract/errors.js';
import type { Topic } from '../event-log/event-log.js';
import type { Clock } from '../platform/clock.js';
import type { Metrics } from '../platform/metrics.js';
import { pause } from '../platform/waiting.js';
import { auditProjection } from '../projections/audit.js';
import { controlProjection } from '../projections/control.js';
import type { ProjectionRunner } from '../projections/projection-runner.js';
import { rebuild } from '../projections/upkeep/rebuild.js';
import { reconcile } from '../projections/upkeep/reconcile.js';
import type { Retention } from '../read-model/retention.js';
import type { Store } from './store.js';

/** The jobs on the read model of this store, for the commands to start. */
export function maintenanceOf(
  { log, model }: Store,
  retention: Retention,
  metrics: Metrics,
  clock: Clock,
  logger: Logger,
): Maintenance {
  const parts = { log, model, projections: [auditProjection, controlProjection], retention, clock, logger };
  return {
    rebuild: (tell, signal) => rebuild(parts, tell, signal),
    async reconcile(range, tell, signal) {
      const report = await reconcile(parts, range, tell, signal);
      metrics.reconciled(report.differences, clock.now());
      return report;
    },
  };
}

/** The period of the check, and the delay after a failed rebuild, in milliseconds. */
const PACE = { look: 1_000, retry: 30_000 };

/**
 * Rebuilds a read model of an earlier version while it serves. Of several processes, the owner of the only partition of
 * `control` does it; if another process takes the partition over, its rebuild replaces the first. Resolves when the signal
 * aborts.
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
      // Another job is running. If it is a rebuild, this one is not needed.
      if (!(error instanceof ControlError)) throw error;
      continue;
    }
    logger.warn('an earlier version made the read model; rebuilding it while it serves');
    while (!signal.aborted && jobs.state('rebuild').state === 'running') await pause(pace.look, signal);
    if (jobs.state('rebuild').state === 'failed') await pause(pace.retry, signal);
  }
}
