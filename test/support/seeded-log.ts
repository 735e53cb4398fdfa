import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { newClusterStore } from './cluster-store.js';
import type { Seed } from './seed.js';

interface SeededLog {
  readonly log: EventLog;
  remove(): Promise<void>;
}

/** A log without a service, on the store of the run, that has what the seed says. */
export async function openSeededLog(seed: Seed): Promise<SeededLog> {
  return process.env.TEST_STORE === 'cluster' ? onCluster(seed) : embedded(seed);
}

async function embedded(seed: Seed): Promise<SeededLog> {
  const dataDir = await seed.write();
  const log = await EmbeddedEventLog.open({ file: join(dataDir, 'log.db') });
  return {
    log,
    async remove() {
      await log.close();
      rmSync(dataDir, { recursive: true });
    },
  };
}

async function onCluster(seed: Seed): Promise<SeededLog> {
  const cluster = newClusterStore();
  const log = await cluster.openLog();
  await seed.appendTo(log);
  return {
    log,
    async remove() {
      await log.close();
      await cluster.remove();
    },
  };
}
