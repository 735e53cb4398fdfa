import type { Logger } from 'pino';
import type { Clock } from './clock.js';
import type { Maintenance } from './commands/maintenance.js';
import type { Metrics } from './metrics.js';
import { auditProjection } from './projections/audit.js';
import { controlProjection } from './projections/control.js';
import { rebuild } from './projections/rebuild.js';
import { reconcile } from './projections/reconcile.js';
import type { Retention } from './read-model/read-model.js';
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
