import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { CommandRunner } from '../commands/command-runner.js';
import { Guesses } from '../commands/guesses.js';
import { SecurityEvents } from '../commands/security-events.js';
import { Jobs } from '../commands/upkeep-jobs.js';
import { emptyFold } from '../control/fold.js';
import { placeIdentifiers } from '../control/placement.js';
import { warnOfSelfSetQueries } from '../control/self-set-queries.js';
import { SkippedRecords } from '../control/skipped.js';
import { ControlSnapshots } from '../control/snapshot.js';
import { ControlState } from '../control/state.js';
import type { EventLog, Topic } from '../event-log/event-log.js';
import type { Readiness } from '../http/readiness.js';
import { PLACEMENT } from '../model/placement.js';
import { type Clock, systemClock } from '../platform/clock.js';
import type { Config } from '../platform/config/config.js';
import { systemIds } from '../platform/ids.js';
import { LogClock } from '../platform/log-clock.js';
import { Metrics } from '../platform/metrics.js';
import { preparePrivateFolder } from '../platform/private-folder.js';
import { ServiceSecret } from '../platform/service-secret.js';
import { Turns } from '../platform/turns.js';
import { Waiters } from '../progress/waiters.js';
import { auditProjectionOn } from '../projections/audit.js';
import { controlProjectionFrom, controlProjectionWithout } from '../projections/control.js';
import type { Projection } from '../projections/projection.js';
import { ProjectionRunner } from '../projections/projection-runner.js';
import { foldedRetention, sweepExpired } from '../projections/retention.js';
import type { Retention } from '../read-model/retention.js';
import { type Parts } from './app.module.js';
import { addGauges } from './gauges.js';
import { keptRootKey, keptServiceSecret } from './kept-secrets.js';
import { listen } from './listen.js';
import { ProcessReadiness } from './readiness.js';
import { type Sealing, sealingOf } from './sealing.js';
import { logMailer, smtpMailer } from './smtp-mailer.js';
import { openEmbeddedStore, type Store } from './store.js';
import { forgetExpired, maintenanceOf, rebuildOutdated } from './upkeep.js';

export interface Service {
  readonly url: string;
  /** Whether the log has no organization yet. */
  readonly isNew: boolean;
  /** Rejects when the process cannot go on: its log cannot be read any more. Never resolves. */
  readonly failure: Promise<never>;
  /** Works on for the drain time, then refuses new work, finishes what is under way, and closes the stores. */
  stop(): Promise<void>;
}

/**
 * Starts everything that the roles require; resolves when the process listens and has caught up with the log. `stop`, or a
 * start that fails half-way, stops everything in the opposite order.
 */
export async function startService(
  config: Config,
  logger: Logger,
  clock: Clock = config.cluster ? new LogClock(systemClock) : systemClock,
): Promise<Service> {
  const started = new AsyncDisposableStack();
  try {
    const composed = await compose(config, logger, clock, started);
    const { parts } = composed;
    const failure = runLoops(composed, logger, started);
    void parts.state.startReached.then(() => warnOfSelfSetQueries(parts.state.read, logger));
    const serves = Promise.race([ready(parts.readiness, logger), failure]);
    const url = await listen(parts, serves, logger, started);
    await serves;
    const isNew = parts.state.read.all('org', '').length === 0;
    return { url, isNew, failure, stop: () => started.disposeAsync() };
  } catch (error) {
    await started.disposeAsync();
    throw error;
  }
}

interface Composed {
  readonly parts: Parts;
  readonly store: Store;
  readonly projections: ReadonlyMap<Topic, ProjectionRunner>;
  readonly snapshots: ControlSnapshots | undefined;
  readonly sealing: Sealing;
}

async function compose(config: Config, logger: Logger, clock: Clock, started: AsyncDisposableStack): Promise<Composed> {
  const ids = systemIds(clock);
  const fold = emptyFold();
  const retention = foldedRetention(fold, clock);
  const turns = new Turns();
  const store = await openStore(config, retention, clock, logger, started, turns);
  const { log, model, feed } = store;
  const metrics = new Metrics();
  const snapshots = snapshotsOf(config, log, logger);
  // Nobody else appends to a log of the embedded store: what cannot be read there is of a newer version.
  const skipped = config.cluster && new SkippedRecords(log, logger);
  const state = new ControlState(log, fold, config.cluster ? 'shared' : 'alone', snapshots, skipped);
  const auditing = auditProjectionOn(() => state.read(PLACEMENT));
  const projections = projectionsOf(config, store, [auditing, controlProjectionFrom(state, skipped)], metrics, logger);
  const guesses = new Guesses(config.badKeysPerMinute, clock, metrics, logger);
  started.defer(() => guesses.close());
  const security = new SecurityEvents(log, ids, state, metrics, logger);
  started.defer(() => security.close());
  const jobs = new Jobs(store.board, `${hostname()}/${process.pid}`, clock, ids, logger);
  started.defer(() => jobs.stop());
  const sealing = sealingOf(config, store, state, jobs, clock, metrics, logger);
  const readiness = new ProcessReadiness(
    store,
    state,
    projections,
    config.roles,
    config.cluster !== undefined,
    sealing.warnings,
  );
  addGauges(metrics, projections, { log, feed, clock, readiness, jobs });
  const parts: Parts = {
    config,
    rootKey: config.rootKey ?? keptRootKey(config.dataDir, ids),
    secret: new ServiceSecret(config.secret ?? keptServiceSecret(config.dataDir, ids)),
    clock,
    ids,
    log,
    model,
    retention,
    waiters: new Waiters(feed),
    state,
    runner: new CommandRunner(log, state, config.quotas, clock, turns, config.requestBudgetMs),
    readiness,
    metrics,
    turns,
    guesses,
    security,
    jobs,
    maintenance: maintenanceOf(
      store,
      [auditing, controlProjectionWithout(skipped)],
      retention,
      metrics,
      clock,
      logger,
      sealing.checked,
      skipped,
    ),
    history: sealing.history,
    tlogStatus: sealing.status,
    mailer: config.smtp ? await smtpMailer(config.smtp, logger) : logMailer(logger),
  };
  return { parts, store, projections, snapshots, sealing };
}

/** Loads the clients of a cluster only if it is configured. */
async function openStore(
  { cluster, dataDir, memory, secret }: Config,
  retention: Retention,
  clock: Clock,
  logger: Logger,
  started: AsyncDisposableStack,
  turns: Turns,
): Promise<Store> {
  if (!cluster) return openEmbeddedStore(dataDir, retention, clock, logger, started, turns);
  const { openClusterStore } = await import('./cluster-store.js');
  // The configuration of a cluster has one.
  return openClusterStore(cluster, memory, retention, clock, new ServiceSecret(secret ?? ''), logger, started);
}

function projectionsOf(
  { roles }: Config,
  { log, model, feed }: Store,
  all: readonly Projection[],
  metrics: Metrics,
  logger: Logger,
): ReadonlyMap<Topic, ProjectionRunner> {
  if (!roles.has('projector')) return new Map();
  const runner = (projection: Projection) => new ProjectionRunner(log, model, feed, projection, metrics, logger);
  return new Map(all.map((projection) => [projection.topic, runner(projection)]));
}

/** A process of a cluster has a folder of its own only if it is given one. */
function snapshotsOf({ cluster, dataDir }: Config, log: EventLog, logger: Logger): ControlSnapshots | undefined {
  const folder = cluster ? cluster.snapshotDir : dataDir;
  if (folder === undefined) return undefined;
  if (cluster) preparePrivateFolder(folder, 'CONTROL_SNAPSHOT_DIR', logger);
  return new ControlSnapshots(join(folder, 'control.snapshot'), log, logger);
}

/** Runs the fold and the projections; the promise rejects when one of them cannot continue, and never resolves. */
function runLoops(
  {
    parts: { config, log, state, ids, clock, model, metrics, jobs, maintenance },
    store,
    projections,
    snapshots,
    sealing,
  }: Composed,
  logger: Logger,
  started: AsyncDisposableStack,
): Promise<never> {
  const stop = new AbortController();
  const { signal } = stop;
  const placed = config.cluster ? placeIdentifiers(log, state, ids, clock, signal) : Promise.resolve();
  const project = async () => {
    // The retention, and where identifiers count, must be known before anything is indexed.
    await state.startReached;
    await placed;
    await Promise.all([...projections.values()].map((runner) => runner.run(signal)));
  };
  const loops = [...store.run(signal), state.run(signal), state.keepFresh(signal), project()];
  if (snapshots) loops.push(snapshots.keep(state, signal));
  loops.push(state.startReached.then(() => sealing.run(signal)));
  if (projections.size > 0) {
    loops.push(sweepExpired(model, metrics, logger, signal));
    loops.push(forgetExpired(store, projections, state, clock, logger, signal));
    loops.push(rebuildOutdated(store, projections, jobs, maintenance, logger, signal));
  }
  started.defer(async () => {
    stop.abort();
    await Promise.allSettled(loops);
  });
  const failure = new Promise<never>((_resolve, reject) => {
    for (const loop of loops) loop.catch(reject);
  });
  failure.catch(() => undefined);
  return failure;
}

const WAITING_LOG_MS = 5_000;

/** Resolves when the process is ready or stopping; until then it periodically logs what it waits for. */
async function ready(readiness: Readiness, logger: Logger): Promise<void> {
  let next = performance.now() + WAITING_LOG_MS;
  for (;;) {
    const missing = readiness.missing();
    if (missing.length === 0 || readiness.isStopping) return;
    if (performance.now() > next) {
      logger.warn({ missing }, 'not ready yet');
      next = performance.now() + WAITING_LOG_MS;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
