import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import { CommandRunner } from '../commands/command-runner.js';
import { DeniedAttempts } from '../commands/denied-attempts.js';
import { Guesses } from '../commands/guesses.js';
import { keyHash } from '../commands/key-secrets.js';
import { KeyUses } from '../commands/key-uses.js';
import { SecurityEvents } from '../commands/security-events.js';
import { Jobs } from '../commands/upkeep-jobs.js';
import { emptyFold } from '../control/fold.js';
import { warnOfSelfSetQueries } from '../control/self-set-queries.js';
import { ControlSnapshots } from '../control/snapshot.js';
import { ControlState } from '../control/state.js';
import type { EventLog, Topic } from '../event-log/event-log.js';
import { AccessCheck } from '../http/access.js';
import { ErrorFilter } from '../http/errors/filter.js';
import type { Readiness } from '../http/readiness.js';
import { Connections } from '../http/server/connections.js';
import { affordable } from '../http/server/descriptors.js';
import { InFlight } from '../http/server/in-flight.js';
import { LargeReads } from '../http/server/large-reads.js';
import { limitRate } from '../http/server/rate-limit.js';
import { fastifyAdapter, prepareServer, refuseOtherMethods } from '../http/server/server.js';
import { reloadCertificate } from '../http/server/tls.js';
import { type Clock, systemClock } from '../platform/clock.js';
import type { Config } from '../platform/config/config.js';
import { systemIds } from '../platform/ids.js';
import { Metrics } from '../platform/metrics.js';
import { preparePrivateFolder } from '../platform/private-folder.js';
import { ServiceSecret } from '../platform/service-secret.js';
import { Slots } from '../platform/slots.js';
import { Turns } from '../platform/turns.js';
import { Waiters } from '../progress/waiters.js';
import { auditProjection } from '../projections/audit.js';
import { controlProjectionFrom } from '../projections/control.js';
import type { Projection } from '../projections/projection.js';
import { ProjectionRunner } from '../projections/projection-runner.js';
import { foldedRetention } from '../projections/upkeep/retention.js';
import { sweepExpired } from '../projections/upkeep/retention-sweeper.js';
import type { Retention } from '../read-model/read-model.js';
import { AppModule, type Parts } from './app.module.js';
import { openEmbeddedStore } from './embedded-store.js';
import { addGauges } from './gauges.js';
import { keptRootKey, keptServiceSecret } from './kept-secrets.js';
import { nestLogger } from './nest-logger.js';
import { ProcessReadiness } from './readiness.js';
import { rebuildOutdated } from './rebuild-outdated.js';
import { logMailer, smtpMailer } from './smtp-mailer.js';
import type { Store } from './store.js';
import { maintenanceOf } from './upkeep.js';

export interface Service {
  readonly url: string;
  /** Whether the log has no organization yet. */
  readonly isNew: boolean;
  /** Rejects when the process cannot go on: its log cannot be read any more. Never resolves. */
  readonly failure: Promise<never>;
  /** Refuses new work, answers what is under way, and closes the stores. */
  stop(): Promise<void>;
}

/** How long sync publishes may still wait for the projection when the process stops. */
const LAST_WAIT_MS = 3_000;

/** How long the last answers may take until they are through. */
const LAST_ANSWER_MS = 5_000;

/** How long connections may stay open on which nothing is asked any more. */
const LAST_CONNECTION_MS = 500;

/**
 * Starts everything that the roles ask for; resolves when it listens and is caught up with the log. What was started is
 * stopped in the opposite order: by `stop`, and also when the start fails half-way.
 */
export async function startService(config: Config, logger: Logger, clock: Clock = systemClock): Promise<Service> {
  const started = new AsyncDisposableStack();
  try {
    const composed = await compose(config, logger, clock, started);
    const { parts } = composed;
    const failure = runLoops(composed, logger, started);
    void parts.state.startReached.then(() => warnOfSelfSetQueries(parts.state.read, logger));
    const url = await serve(parts, logger, started);
    await Promise.race([ready(parts.readiness, logger), failure]);
    const isNew = parts.state.fold.streams.size === 0;
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
  const state = new ControlState(log, fold, config.cluster ? 'shared' : 'alone', snapshots);
  const projections = projectionsOf(config, store, metrics, logger, state);
  addGauges(metrics, log, projections, clock);
  const guesses = new Guesses(config.badKeysPerMinute, clock, metrics, logger);
  started.defer(() => guesses.close());
  const security = new SecurityEvents(log, ids, state, metrics, logger);
  started.defer(() => security.close());
  const jobs = new Jobs(clock, ids, logger);
  started.defer(() => jobs.stop());
  const parts: Parts = {
    config,
    rootKey: config.rootKey ?? keptRootKey(config.dataDir, ids),
    secret: new ServiceSecret(config.secret ?? keptServiceSecret(config.dataDir, ids)),
    clock,
    ids,
    log,
    model,
    waiters: new Waiters(feed),
    state,
    runner: new CommandRunner(log, state, config.quotas, clock),
    readiness: new ProcessReadiness(store, state, projections, config.roles),
    metrics,
    turns,
    guesses,
    security,
    jobs,
    maintenance: maintenanceOf(store, retention, metrics, clock, logger),
    mailer: config.smtp ? smtpMailer(config.smtp, logger) : logMailer(logger),
  };
  return { parts, store, projections, snapshots };
}

/** The clients of a cluster are loaded only where there is one. */
async function openStore(
  { cluster, dataDir }: Config,
  retention: Retention,
  clock: Clock,
  logger: Logger,
  started: AsyncDisposableStack,
  turns: Turns,
): Promise<Store> {
  if (!cluster) return openEmbeddedStore(dataDir, retention, clock, logger, started, turns);
  const { openClusterStore } = await import('./cluster-store.js');
  return openClusterStore(cluster, retention, clock, logger, started);
}

function projectionsOf(
  { roles }: Config,
  { log, model, feed }: Store,
  metrics: Metrics,
  logger: Logger,
  state: ControlState,
): ReadonlyMap<Topic, ProjectionRunner> {
  if (!roles.has('projector')) return new Map();
  const runner = (projection: Projection) => new ProjectionRunner(log, model, feed, projection, metrics, logger);
  const projections = [auditProjection, controlProjectionFrom(state)];
  return new Map(projections.map((projection) => [projection.topic, runner(projection)]));
}

/** A process of a cluster has a folder of its own only where it is given one. */
function snapshotsOf({ cluster, dataDir }: Config, log: EventLog, logger: Logger): ControlSnapshots | undefined {
  const folder = cluster ? cluster.snapshotDir : dataDir;
  if (folder === undefined) return undefined;
  if (cluster) preparePrivateFolder(folder, 'CONTROL_SNAPSHOT_DIR', logger);
  return new ControlSnapshots(join(folder, 'control.snapshot'), log, logger);
}

/** Runs the fold and the projections; the answer rejects when one of them cannot go on, and never resolves. */
function runLoops(
  { parts: { state, model, metrics, jobs, maintenance }, store, projections, snapshots }: Composed,
  logger: Logger,
  started: AsyncDisposableStack,
): Promise<never> {
  const stop = new AbortController();
  const { signal } = stop;
  const project = async () => {
    // What has expired must be known before anything is indexed.
    await state.startReached;
    await Promise.all([...projections.values()].map((runner) => runner.run(signal)));
  };
  const loops = [...store.run(signal), state.run(signal), state.keepFresh(signal), project()];
  if (snapshots) loops.push(snapshots.keep(state, signal));
  if (projections.size > 0) {
    loops.push(sweepExpired(model, metrics, logger, signal));
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

/** Listens; answers the address. */
async function serve(parts: Parts, logger: Logger, started: AsyncDisposableStack): Promise<string> {
  const { config, clock, ids, log, metrics, guesses, state, readiness, waiters } = parts;
  const denied = new DeniedAttempts(log, clock, ids, metrics, logger);
  started.defer(() => denied.close());
  const uses = new KeyUses(log, state, clock, logger);
  started.defer(() => uses.close());
  const errors = new ErrorFilter(metrics);
  const adapter = fastifyAdapter(config, logger, ids, errors);
  const server = adapter.getInstance();
  await limitRate(server, config.rateLimit);
  const inFlight = new InFlight(server);
  const access = new AccessCheck(state, denied, clock, keyHash(parts.rootKey), guesses, uses);
  // Before the access is checked again: a read may wait long for its turn.
  server.addHook('preHandler', new LargeReads(readPlaces(config)).hook);
  const routes = prepareServer(server, access, readiness);
  const connections = watchConnections(server.server, parts, logger);
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.of(parts), adapter, {
    logger: nestLogger(logger),
    bodyParser: false,
    abortOnError: false,
  });
  started.defer(async () => {
    readiness.stop();
    const lastWait = setTimeout(() => waiters.close(), LAST_WAIT_MS);
    await inFlight.drained(LAST_ANSWER_MS);
    const closed = app.close();
    // A connection on which nothing was ever asked does not count as idle: it would keep the server open for ever.
    const cut = setTimeout(() => connections.closeAll(), LAST_CONNECTION_MS);
    await closed;
    clearTimeout(cut);
    clearTimeout(lastWait);
    waiters.close();
  });
  app.useGlobalFilters(errors);
  await app.init();
  refuseOtherMethods(server, routes);
  await app.listen(config.port, config.host);
  protectTransport(server.server, config, logger);
  const { port } = app.getHttpServer().address() as AddressInfo;
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return `${config.tls ? 'https' : 'http'}://${host}:${port}`;
}

function protectTransport(server: Server, { host, tls }: Config, logger: Logger): void {
  if (tls) return reloadCertificate(server, tls, logger);
  const { address } = server.address() as AddressInfo;
  if (address === '::1' || address.startsWith('127.')) return;
  logger.warn(
    { host },
    'keys and events travel unencrypted: set CONTROL_TLS_CERT_FILE and CONTROL_TLS_KEY_FILE, or let nothing but a proxy with TLS reach this port',
  );
}

/** So many organizations may have all their large reads under way at once; more have one each. */
const ORGS_AT_FULL = 6;

function readPlaces({ readsPerOrg }: Config): Slots {
  return new Slots({ perOrg: readsPerOrg, inAll: ORGS_AT_FULL * readsPerOrg });
}

function watchConnections(server: Server, { config, metrics, ids }: Parts, logger: Logger): Connections {
  const { maxConnections, maxConnectionsPerAddress: mostPerAddress, trustedProxies } = config;
  const most = affordable(maxConnections);
  if (most < maxConnections) {
    logger.warn(
      { connections: most, wanted: maxConnections },
      'this process may open too few files for CONTROL_MAX_CONNECTIONS: raise its limit (ulimit -n), or lower the setting',
    );
  }
  return new Connections(
    server,
    { most, mostPerAddress, trustedProxies },
    metrics,
    logger,
    ids,
    config.tls !== undefined,
  );
}

const WAITING_LOG_MS = 5_000;

/** Resolves when the process is ready, or its start has failed; until then it says now and then what it waits for. */
async function ready(readiness: Readiness, logger: Logger): Promise<void> {
  let next = Date.now() + WAITING_LOG_MS;
  for (;;) {
    const missing = readiness.missing();
    if (missing.length === 0 || readiness.isStopping) return;
    if (Date.now() > next) {
      logger.warn({ missing }, 'not ready yet');
      next = Date.now() + WAITING_LOG_MS;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
