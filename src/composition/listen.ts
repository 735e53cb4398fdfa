import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import { DeniedAttempts } from '../commands/denied-attempts.js';
import { keyHash } from '../commands/key-secrets.js';
import { KeyUses } from '../commands/key-uses.js';
import { AccessCheck } from '../http/access.js';
import { ErrorFilter } from '../http/errors/filter.js';
import { affordable, Connections } from '../http/server/connections.js';
import { InFlight } from '../http/server/in-flight.js';
import { LargeReads } from '../http/server/large-reads.js';
import { limitRate } from '../http/server/rate-limit.js';
import { fastifyAdapter, prepareServer, refuseOtherMethods } from '../http/server/server.js';
import { reloadCertificate } from '../http/server/tls.js';
import type { Config } from '../platform/config/config.js';
import { Slots } from '../platform/slots.js';
import { AppModule, type Parts } from './app.module.js';

/** How long sync publishes may still wait for the projection when the process stops. */
const LAST_WAIT_MS = 3_000;

/** How long the last responses may take. */
const LAST_ANSWER_MS = 5_000;

/** How long idle connections may stay open at a stop. */
const LAST_CONNECTION_MS = 500;

/** Serves HTTP; returns the address. What it starts is stopped with `started`. */
export async function listen(parts: Parts, logger: Logger, started: AsyncDisposableStack): Promise<string> {
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
  const routes = prepareServer(server, access, readiness, parts.turns);
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
    // Node does not count a connection without any request as idle: it would keep the server open for ever.
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

/** How many organizations may have all their large reads under way at once; further ones have one each. */
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
