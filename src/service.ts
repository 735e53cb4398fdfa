import { mkdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import { AppModule, type Parts } from './app.module.js';
import { systemClock } from './clock.js';
import { CommandRunner } from './commands/command-runner.js';
import { ControlState } from './commands/control-state.js';
import { keyHash } from './commands/key-secrets.js';
import type { Config } from './config.js';
import { EmbeddedEventLog } from './event-log/embedded.js';
import { StoreUnusable } from './event-log/event-log.js';
import { addGauges } from './gauges.js';
import { AccessCheck } from './http/access.js';
import { ErrorFilter } from './http/error-filter.js';
import { InFlight } from './http/in-flight.js';
import { limitRate } from './http/rate-limit.js';
import { fastifyAdapter, prepareServer, refuseOtherMethods } from './http/server.js';
import { systemIds } from './ids.js';
import { Metrics } from './metrics.js';
import { nestLogger } from './nest-logger.js';
import { InProcessProgressFeed } from './progress/in-process.js';
import { Waiters } from './progress/waiters.js';
import { auditProjection } from './projections/audit.js';
import { controlProjection } from './projections/control.js';
import { ProjectionRunner } from './projections/projection-runner.js';
import { EmbeddedReadModel } from './read-model/embedded.js';
import { Readiness } from './readiness.js';
import { keptRootKey } from './root-key.js';

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
export async function startService(config: Config, logger: Logger): Promise<Service> {
  const started = new AsyncDisposableStack();
  try {
    const { parts, projections } = await compose(config, logger, started);
    const failure = runLoops(parts, projections, started);
    const url = await serve(parts, logger, started);
    await Promise.race([caughtUp(parts.readiness), failure]);
    const isNew = parts.state.fold.commands.size === 0;
    return { url, isNew, failure, stop: () => started.disposeAsync() };
  } catch (error) {
    await started.disposeAsync();
    throw error;
  }
}

async function compose(
  config: Config,
  logger: Logger,
  started: AsyncDisposableStack,
): Promise<{ parts: Parts; projections: ProjectionRunner[] }> {
  const clock = systemClock;
  const ids = systemIds(clock);
  prepareFolder(config.dataDir);
  const log = await EmbeddedEventLog.open({ file: join(config.dataDir, 'log.db'), clock });
  started.defer(() => log.close());
  const file = join(config.dataDir, 'read-model.db');
  const model = await EmbeddedReadModel.open({
    file,
    logId: log.id,
    head: (topic) => log.head(topic),
    onReplaced: (reason) =>
      logger.error({ file, reason, log: log.id }, 'the read model is rebuilt; the old file is kept'),
  });
  started.defer(() => model.close());
  const metrics = new Metrics();
  const feed = new InProcessProgressFeed();
  const state = new ControlState(log);
  const runners = new Map(
    [auditProjection, controlProjection].map((projection) => [
      projection.topic,
      new ProjectionRunner(log, model, feed, projection, metrics, logger),
    ]),
  );
  addGauges(metrics, log, runners, clock);
  const parts: Parts = {
    config,
    rootKey: config.rootKey ?? keptRootKey(config.dataDir, ids),
    clock,
    ids,
    log,
    model,
    waiters: new Waiters(feed),
    state,
    runner: new CommandRunner(log, state),
    readiness: new Readiness(state, runners),
    metrics,
  };
  return { parts, projections: [...runners.values()] };
}

/** Runs the fold and the projections; the answer rejects when one of them cannot go on, and never resolves. */
function runLoops(
  parts: Parts,
  projections: readonly ProjectionRunner[],
  started: AsyncDisposableStack,
): Promise<never> {
  const stop = new AbortController();
  const loops = [parts.state.run(stop.signal), ...projections.map((runner) => runner.run(stop.signal))];
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

function prepareFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StoreUnusable(`${folder}: cannot be made: ${(error as Error).message}; check CONTROL_DATA_DIR`, {
      cause: error,
    });
  }
}

/** Listens; answers the address. */
async function serve(parts: Parts, logger: Logger, started: AsyncDisposableStack): Promise<string> {
  const { config, ids, metrics, state, readiness, waiters } = parts;
  const errors = new ErrorFilter(metrics);
  const adapter = fastifyAdapter(config, logger, ids, errors);
  const server = adapter.getInstance();
  await limitRate(server, config.rateLimit);
  const inFlight = new InFlight(server);
  const routes = prepareServer(server, new AccessCheck(state, keyHash(parts.rootKey)), readiness);
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
    const cut = setTimeout(() => app.getHttpServer().closeAllConnections(), LAST_CONNECTION_MS);
    await closed;
    clearTimeout(cut);
    clearTimeout(lastWait);
    waiters.close();
  });
  app.useGlobalFilters(errors);
  await app.init();
  refuseOtherMethods(server, routes);
  await app.listen(config.port, config.host);
  const { port } = app.getHttpServer().address() as AddressInfo;
  return `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`;
}

async function caughtUp(readiness: Readiness): Promise<void> {
  while (readiness.missing().length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
}
