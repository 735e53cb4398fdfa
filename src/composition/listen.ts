import type { Server } from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import type { LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import { DeniedAttempts } from '../commands/denied-attempts.js';
import { keyHash } from '../commands/key-secrets.js';
import { KeyUses } from '../commands/key-uses.js';
import { AccessCheck } from '../http/access.js';
import { ErrorFilter } from '../http/errors/filter.js';
import { BodyBudget } from '../http/server/body-budget.js';
import { compress } from '../http/server/compressed.js';
import { affordable, Connections } from '../http/server/connections.js';
import { Cors } from '../http/server/cors.js';
import { InFlight } from '../http/server/in-flight.js';
import { LargeReads } from '../http/server/large-reads.js';
import { limitRate } from '../http/server/rate-limit.js';
import { fastifyAdapter, prepareServer, refuseOtherMethods } from '../http/server/server.js';
import { reloadCertificate } from '../http/server/tls.js';
import type { Config } from '../platform/config/config.js';
import { sharesOf } from '../platform/memory.js';
import { Slots } from '../platform/slots.js';
import { pause, within } from '../platform/waiting.js';
import { PAGE_BYTES } from '../queries/reading.js';
import { AppModule, type Parts } from './app.module.js';

/** How long sync publishes may still wait for the projection when the process stops. */
const LAST_WAIT_MS = 3_000;

/** How long the last responses may take. */
const LAST_ANSWER_MS = 5_000;

/** How long idle connections may stay open at a stop. */
const LAST_CONNECTION_MS = 500;

/** A process that takes longer to get ready listens before, so that `/health/ready` says what it waits for. */
const LISTEN_MS = 10_000;

/**
 * Serves HTTP from the moment when `ready` resolves, or a few seconds after the call; returns the address. What it starts is
 * stopped with `started`: first the process is not ready, and works on for the drain time.
 */
export async function listen(
  parts: Parts,
  ready: Promise<void>,
  logger: Logger,
  started: AsyncDisposableStack,
): Promise<string> {
  const due = within(LISTEN_MS, ready, undefined);
  // It is awaited below, once the server is made.
  due.catch(() => undefined);
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
  // Before the second check of the access: a read may wait long for its turn.
  server.addHook('preHandler', new LargeReads(readPlaces(config)).hook);
  const cors = config.corsOrigins.length > 0 ? new Cors(config.corsOrigins) : undefined;
  const routes = prepareServer(server, access, readiness, parts.turns, cors);
  const bodies = new BodyBudget(sharesOf(config.memory).bodies);
  server.addHook('preParsing', bodies.admit);
  server.addHook('preHandler', bodies.begin);
  server.addHook('onSend', bodies.end);
  server.addHook('onSend', compress);
  const connections = watchConnections(server.server, parts, logger);
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.of(parts), adapter, {
    logger: nestLogger(logger),
    bodyParser: false,
    abortOnError: false,
  });
  started.defer(async () => {
    // One that refuses requests is not waited for.
    const drainMs = readiness.closedBecause() === undefined ? config.drainMs : 0;
    readiness.drain();
    await pause(drainMs);
    readiness.stop();
    // Whoever connects now is refused at once, and may go to another process. Open connections are not cut.
    NetServer.prototype.close.call(server.server);
    const lastWait = setTimeout(() => waiters.close(), LAST_WAIT_MS);
    await inFlight.drained(LAST_ANSWER_MS);
    const closed = app.close();
    // Node does not count a connection without any request as idle: it would keep the server open for ever.
    const cut = setTimeout(() => connections.closeAll(), LAST_CONNECTION_MS);
    await closed;
    clearTimeout(cut);
    clearTimeout(lastWait);
    waiters.close();
  });
  app.useGlobalFilters(errors);
  await app.init();
  refuseOtherMethods(server, routes, cors);
  await due;
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

/** How many organizations may have all their large reads under way at once; further ones have one each. */
const ORGS_AT_FULL = 6;

function readPlaces({ readsPerOrg, memory }: Config): Slots {
  const affordable = Math.floor(sharesOf(memory).pages / PAGE_BYTES);
  return new Slots({
    perOrg: Math.min(readsPerOrg, affordable),
    inAll: Math.min(ORGS_AT_FULL * readsPerOrg, affordable),
  });
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

/** The framework's own messages, in the service's log; those of its start at level `debug`. */
function nestLogger(logger: Logger): LoggerService {
  const write =
    (level: 'debug' | 'warn' | 'error') =>
    (message: unknown, ...details: unknown[]) => {
      logger[level]({ details }, message instanceof Error ? message.message : String(message));
    };
  return {
    log: write('debug'),
    debug: write('debug'),
    verbose: write('debug'),
    warn: write('warn'),
    error: write('error'),
  };
}
