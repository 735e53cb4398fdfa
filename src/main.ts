import 'reflect-metadata';
import { pino } from 'pino';
import { collectDefaultMetrics } from 'prom-client';
import { rootKeyFile } from './composition/kept-secrets.js';
import { type Service, startService } from './composition/service.js';
import { CorruptRecord, PositionOutOfRange, UnreadableRecord } from './event-log/event-log.js';
import { type Config, ConfigError, readConfig } from './platform/config/config.js';
import { StoreUnusable } from './platform/store-unusable.js';

/** How often the delay of the event loop is measured: each time costs a little of an idle process. */
const LOOP_SAMPLE_MS = 20;

/** The process ends this long after its drain time, whatever is still under way. */
const STOP_MS = 8_000;

async function main(): Promise<void> {
  // Whatever is written is for this user alone.
  process.umask(0o077);
  const config = readConfig(process.env);
  const logger = pino({ level: config.logLevel, redact: ['req.headers.authorization', 'headers.authorization'] });
  let service: Service | undefined;
  const stop = (signal: string) => {
    logger.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), config.drainMs + STOP_MS).unref();
    // Before the service is up nothing was acknowledged, and nothing has to be waited for.
    Promise.resolve(service?.stop()).then(
      () => process.exit(0),
      (error) => die(error),
    );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  // Memory, CPU, file descriptors, garbage collection and the delay of the event loop.
  collectDefaultMetrics({ eventLoopMonitoringPrecision: LOOP_SAMPLE_MS });
  service = await startService(config, logger);
  logger.info({ url: service.url }, 'listening');
  if (service.isNew) process.stderr.write(welcome(service.url, config));
  await service.failure;
}

function welcome(url: string, config: Config): string {
  const keyFile = config.rootKey === undefined ? rootKeyFile(config.dataDir) : undefined;
  const key = keyFile === undefined ? '$CONTROL_ROOT_KEY' : `$(cat ${keyFile})`;
  return `
The log is new. Make an organization, and get its first key, with the root key${keyFile === undefined ? '' : ` in ${keyFile}`}:

  curl -X POST ${url}/org -H "Authorization: Bearer ${key}" \\
    -H 'Content-Type: application/json' -d '{"name":"acme"}'

`;
}

const KNOWN = [ConfigError, StoreUnusable, CorruptRecord, PositionOutOfRange, UnreadableRecord];

/** Faults that the operator can fix are printed as one sentence, others with their stack. */
function die(error: unknown): never {
  const known = KNOWN.some((kind) => error instanceof kind) || isListenFault(error);
  process.stderr.write(
    `control-service: ${known ? (error as Error).message : ((error as Error)?.stack ?? String(error))}\n`,
  );
  process.exit(1);
}

function isListenFault(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'listen';
}

main().catch(die);
