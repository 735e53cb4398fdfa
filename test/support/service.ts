import 'reflect-metadata';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Clock } from '../../src/clock.js';
import { readConfig } from '../../src/config.js';
import { startService as start } from '../../src/service.js';

export interface TestService {
  readonly url: string;
  readonly rootKey: string;
  readonly dataDir: string;
  /** Stops the service and keeps its data, to be started again with the same `dataDir`. */
  stop(): Promise<void>;
  /** Stops the service and removes its data. */
  remove(): Promise<void>;
}

/** The whole service on the embedded store, in this process, on a port of its own. */
export async function startService(
  options: { env?: Record<string, string>; dataDir?: string; clock?: Clock } = {},
): Promise<TestService> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'control-service-'));
  const config = readConfig({
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
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
