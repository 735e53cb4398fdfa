import type { Logger } from 'pino';
import type { Maintenance } from '../commands/upkeep.js';
import type { Jobs, Tell } from '../commands/upkeep-jobs.js';
import { ControlError } from '../contract/errors.js';
import type { SkippedRecords } from '../control/skipped.js';
import type { ControlState } from '../control/state.js';
import type { Topic } from '../event-log/event-log.js';
import type { Clock } from '../platform/clock.js';
import type { Metrics } from '../platform/metrics.js';
import { pause } from '../platform/waiting.js';
import { auditProjection } from '../projections/audit.js';
import { deleteExpired } from '../projections/expired-records.js';
import type { Projection } from '../projections/projection.js';
import type { ProjectionRunner } from '../projections/projection-runner.js';
import { foldedRetention } from '../projections/retention.js';
import { distance, indexedEnds, patiently } from '../projections/upkeep/pace.js';
import { type RebuildReport, rebuild } from '../projections/upkeep/rebuild.js';
import { reconcile } from '../projections/upkeep/reconcile.js';
import type { JobOutcome } from '../read-model/job-board.js';
import type { ReadModel } from '../read-model/read-model.js';
import type { Retention } from '../read-model/retention.js';
import { type CheckReport, checkTrees } from '../sealing/check.js';
import type { Store } from './store.js';

/** The jobs on the read model of this store, for the commands to start. */
export function maintenanceOf(
  store: Store,
  projections: readonly Projection[],
  retention: Retention,
  metrics: Metrics,
  clock: Clock,
  logger: Logger,
  checked: (report: CheckReport) => void = () => undefined,
  skipped?: SkippedRecords,
): Maintenance {
  const { log, model } = store;
  const parts = { log, model, projections, retention, clock, logger };
  return {
    async rebuild(tell, signal) {
      const records = await store.replaceUnusable();
      return records === undefined ? rebuild(parts, tell, signal) : filled(model, records, tell, signal);
    },
    async reconcile(range, tell, signal) {
      const report = await reconcile(parts, range, tell, signal);
      metrics.reconciled(report.differences, clock.now());
      return report;
    },
    async checkTrees(tell, signal) {
      const report = await checkTrees({ log, store: store.sharedTrees ?? store.trees, skipped }, tell, signal);
      checked(report);
      return report;
    },
  };
}

const TOPICS: readonly Topic[] = ['audit', 'control'];

/** Waits until projectors have filled the read model that took the place of an unusable one. */
async function filled(model: ReadModel, records: number, tell: Tell, signal: AbortSignal): Promise<RebuildReport> {
  for (;;) {
    const { generation } = await patiently(signal, () => model.progress('audit'));
    tell('filling', distance({}, await indexedEnds(model, TOPICS, signal)), records);
    if (await isReadable(model)) {
      const differences = { missing: 0, altered: 0, extra: 0 };
      return { kind: 'rebuild', generation, records, unreadable: 0, compared: 0, differences, items: [], omitted: 0 };
    }
    await pause(PACE.look, signal);
  }
}

async function isReadable(model: ReadModel): Promise<boolean> {
  try {
    await model.get('org', '-', '-');
    return true;
  } catch (error) {
    if (error instanceof ControlError) return false;
    throw error;
  }
}

const FORGETTING_MS = { every: 10 * 60_000, grace: 24 * 60 * 60_000 };

/**
 * Periodically deletes the expired records at the beginning of the log, if the store wants it, a day after they expired. Of
 * several processes, the owner of the only partition of `control` does it. Resolves when the signal aborts.
 */
export async function forgetExpired(
  { log, model, forgetting }: Pick<Store, 'log' | 'model' | 'forgetting'>,
  projections: ReadonlyMap<Topic, Pick<ProjectionRunner, 'indexed' | 'lastIndexedTime'>>,
  state: Pick<ControlState, 'confirm' | 'fold'>,
  clock: Clock,
  logger: Logger,
  signal: AbortSignal,
  pace = FORGETTING_MS,
): Promise<void> {
  while (forgetting && !signal.aborted) {
    await pause(pace.every, signal, { ref: false });
    if (signal.aborted || !carriesControl(projections)) continue;
    try {
      // By the log's time: a clock that is ahead deletes nothing too early. Read before the state is confirmed, so that a
      // retention which is longer from a later instant on keeps what it serves.
      const times = [...projections.values()].map(({ lastIndexedTime }) => lastIndexedTime);
      const before = Math.min(clock.now(), Math.max(...times)) - pace.grace;
      await state.confirm();
      const retention = foldedRetention(state.fold, { now: () => before });
      const parts = { log, model, projection: auditProjection, retention, before };
      const freed = await deleteExpired({ ...parts, deleteBefore: (ends) => forgetting.deleteBefore(ends) }, signal);
      if (freed > 0) logger.info({ freed }, 'expired records were deleted from the log');
    } catch (err) {
      logger.error({ err }, 'expired records could not be deleted from the log; trying again later');
    }
  }
}

function carriesControl(projections: ReadonlyMap<Topic, Pick<ProjectionRunner, 'indexed'>>): boolean {
  return Object.keys(projections.get('control')?.indexed ?? {}).length > 0;
}

/** The period of the check, and the delay after a failed rebuild, in milliseconds. */
const PACE = { look: 1_000, retry: 30_000 };

/**
 * Rebuilds a read model of an earlier version while it serves. Of several processes, the owner of the only partition of
 * `control` does it. Resolves when the signal aborts.
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
    if (signal.aborted || !carriesControl(projections) || !store.isOutdated()) continue;
    const started = await jobs
      .start('rebuild', (tell, abort) => maintenance.rebuild(tell, abort))
      .catch((error: unknown) => {
        // Another job is running, or Elasticsearch is away. If it is a rebuild, this one is not needed.
        if (!(error instanceof ControlError)) throw error;
      });
    if (!started) continue;
    logger.warn('an earlier version made the read model; rebuilding it while it serves');
    let outcome: JobOutcome | undefined;
    void started.ended.then((ended) => {
      outcome = ended;
    });
    while (!signal.aborted && !outcome) await pause(pace.look, signal);
    if (outcome?.state === 'failed') await pause(pace.retry, signal);
  }
}
