import 'reflect-metadata';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Clock } from '../../src/clock.js';
import { readConfig } from '../../src/config.js';
import { startService as start } from '../../src/service.js';
import { type ClusterStore, newClusterStore } from './cluster-store.js';

export interface TestService {
  readonly url: string;
  readonly rootKey: string;
  readonly dataDir: string;
  /** Stops the service and keeps its data, to be started again with the same `dataDir`. */
  stop(): Promise<void>;
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

/**
 * The whole service in this process, on a port of its own: on the embedded store, or with `TEST_STORE=cluster` on Kafka and
 * Elasticsearch.
 */
export async function startService(
  options: { env?: Record<string, string>; dataDir?: string; clock?: Clock } = {},
): Promise<TestService> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'control-service-'));
  const cluster = process.env.TEST_STORE === 'cluster' ? clusterOf(dataDir) : undefined;
  const config = readConfig({
    ...cluster?.env,
    CONTROL_PORT: '0',
    CONTROL_DATA_DIR: dataDir,
    CONTROL_LOG_LEVEL: 'silent',
    ...options.env,
  });
  const service = await start(config, pino({ level: config.logLevel }), options.clock);
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
    async remove() {
      await stop();
      await cluster?.remove();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
