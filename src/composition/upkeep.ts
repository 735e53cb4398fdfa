import type { Logger } from 'pino';
import type { Maintenance } from '../commands/upkeep.js';
import type { Clock } from '../platform/clock.js';
import type { Metrics } from '../platform/metrics.js';
import { auditProjection } from '../projections/audit.js';
import { controlProjection } from '../projections/control.js';
import { rebuild } from '../projections/upkeep/rebuild.js';
import { reconcile } from '../projections/upkeep/reconcile.js';
import type { Retention } from '../read-model/retention.js';
import type { Store } from './store.js';

/** The jobs on the read model of this store: what the commands start and the projections know how to do. */
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
