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
import { AccessCheck } from './http/access.js';
import { ErrorFilter } from './http/error-filter.js';
import { fastifyAdapter, prepareServer, refuseOtherMethods } from './http/server.js';
import { systemIds } from './ids.js';
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

/** Starts everything that the roles ask for; resolves when it listens and is caught up with the log. */
export async function startService(config: Config, logger: Logger): Promise<Service> {
  const stopped = new AbortController();
  const { parts, projections } = await compose(config, logger);
  const loops = [parts.state.run(stopped.signal), ...projections.map((runner) => runner.run(stopped.signal))];
  const failure = failureOf(loops);
  const app = await serve(parts, logger);
  await Promise.race([caughtUp(parts.readiness), failure]);
  return {
    url: urlOf(config, app),
    isNew: parts.state.fold.commands.size === 0,
    failure,
    async stop() {
      parts.readiness.stop();
      const lastWait = setTimeout(() => parts.waiters.close(), LAST_WAIT_MS);
      await app.close();
      clearTimeout(lastWait);
      parts.waiters.close();
      stopped.abort();
      await Promise.allSettled(loops);
      await parts.model.close();
      await parts.log.close();
    },
  };
}

async function compose(config: Config, logger: Logger): Promise<{ parts: Parts; projections: ProjectionRunner[] }> {
  const clock = systemClock;
  const ids = systemIds(clock);
  prepareFolder(config.dataDir);
  const log = await EmbeddedEventLog.open({ file: join(config.dataDir, 'log.db'), clock });
  const file = join(config.dataDir, 'read-model.db');
  const model = await EmbeddedReadModel.open({ file, logId: log.id, head: (topic) => log.head(topic) });
  const feed = new InProcessProgressFeed();
  const state = new ControlState(log);
  const runners = new Map(
    [auditProjection, controlProjection].map((projection) => [
      projection.topic as string,
      new ProjectionRunner(log, model, feed, projection, logger),
    ]),
  );
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
  };
  return { parts, projections: [...runners.values()] };
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

async function serve(parts: Parts, logger: Logger): Promise<NestFastifyApplication> {
  const { config, ids, state, readiness } = parts;
  const adapter = fastifyAdapter(config, logger, ids);
  const server = adapter.getInstance();
  const routes = prepareServer(server, new AccessCheck(state, keyHash(parts.rootKey)), readiness);
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.of(parts), adapter, {
    logger: nestLogger(logger),
    bodyParser: false,
    abortOnError: false,
  });
  app.useGlobalFilters(new ErrorFilter());
  await app.init();
  refuseOtherMethods(server, routes);
  await app.listen(config.port, config.host);
  return app;
}

function urlOf(config: Config, app: NestFastifyApplication): string {
  const { port } = app.getHttpServer().address() as AddressInfo;
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return `http://${host}:${port}`;
}

/** The first failure of any loop. A loop that ends in order says nothing. */
function failureOf(loops: readonly Promise<void>[]): Promise<never> {
  const failure = new Promise<never>((_resolve, reject) => {
    for (const loop of loops) loop.catch(reject);
  });
  failure.catch(() => undefined);
  return failure;
}

async function caughtUp(readiness: Readiness): Promise<void> {
  while (readiness.missing().length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
}
