import 'reflect-metadata';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { startService as start } from '../../src/composition/service.js';
import type { Clock } from '../../src/platform/clock.js';
import { readConfig } from '../../src/platform/config/config.js';
import { type ClusterStore, newClusterStore, PATIENT } from './cluster-store.js';
import type { Seed } from './seed.js';

export interface TestService {
  readonly url: string;
  readonly rootKey: string;
  readonly dataDir: string;
  /** Stops the service and keeps its data, to be started again with the same `dataDir`. */
  stop(): Promise<void>;
  /** Everything that its store has, as it stands there. */
  stored(): Promise<Buffer>;
  /** Stops the service and removes its read model, which the next start makes anew from the log. */
  loseReadModel(): Promise<void>;
  /** Stops the service and removes its data. */
  remove(): Promise<void>;
}

/** The store of a data folder: a service that is started again there finds what it had. */
const clusters = new Map<string, ClusterStore>();

function clusterOf(dataDir: string): ClusterStore {
  const known = clusters.get(dataDir) ?? newClusterStore();
  clusters.set(dataDir, known);
  return known;
}

export const onCluster = process.env.TEST_STORE === 'cluster';

/** A data folder of its own. The log of its store has what the seed says. */
async function newDataDir(seed: Seed | undefined): Promise<string> {
  if (seed && !onCluster) return seed.write();
  const dataDir = mkdtempSync(join(tmpdir(), 'control-service-'));
  if (!seed) return dataDir;
  const log = await clusterOf(dataDir).openLog();
  await seed.appendTo(log).finally(() => log.close());
  return dataDir;
}

/**
 * The whole service in this process, on a port of its own: on the embedded store, or with `TEST_STORE=cluster` on Kafka and
 * Elasticsearch.
 */
export async function startService(
  options: {
    readonly env?: Record<string, string>;
    readonly dataDir?: string;
    readonly clock?: Clock;
    readonly logger?: Logger;
    /** What the log of a new data folder has before the service starts. */
    readonly seed?: Seed;
  } = {},
): Promise<TestService> {
  const dataDir = options.dataDir ?? (await newDataDir(options.seed));
  const cluster = onCluster ? clusterOf(dataDir) : undefined;
  const config = readConfig({
    ...(cluster && { ...PATIENT, ...cluster.env }),
    CONTROL_PORT: '0',
    CONTROL_DATA_DIR: dataDir,
    CONTROL_LOG_LEVEL: 'silent',
    // Tests of one service invite the same few addresses over and over.
    CONTROL_MAIL_PER_ADDRESS: '1000000',
    CONTROL_MAIL_PER_ORG: '1000000',
    ...options.env,
  });
  const service = await start(config, options.logger ?? pino({ level: config.logLevel }), options.clock);
  const rootKey = config.rootKey ?? readFileSync(join(dataDir, 'root.key'), 'utf8').trim();
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= service.stop();
    return stopped;
  };
  return {
    url: service.url,
    rootKey,
    dataDir,
    stop,
    async stored() {
      if (cluster) return cluster.stored();
      return Buffer.concat(readdirSync(dataDir).map((file) => readFileSync(join(dataDir, file))));
    },
    async loseReadModel() {
      await stop();
      if (cluster) return cluster.removeReadModel();
      for (const suffix of ['', '-wal', '-shm']) rmSync(join(dataDir, `read-model.db${suffix}`), { force: true });
    },
    async remove() {
      await stop();
      await cluster?.remove();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
