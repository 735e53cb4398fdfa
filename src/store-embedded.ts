import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Clock } from './clock.js';
import { EmbeddedEventLog } from './event-log/embedded.js';
import { StoreUnusable } from './event-log/event-log.js';
import { InProcessProgressFeed } from './progress/in-process.js';
import { EmbeddedReadModel } from './read-model/embedded.js';
import type { Retention } from './read-model/read-model.js';
import type { Store } from './store.js';

/** Two files in the data folder. What it opens is closed with `started`. */
export async function openEmbeddedStore(
  dataDir: string,
  retention: Retention,
  clock: Clock,
  logger: Logger,
  started: AsyncDisposableStack,
): Promise<Store> {
  prepareFolder(dataDir);
  const log = await EmbeddedEventLog.open({ file: join(dataDir, 'log.db'), clock });
  started.defer(() => log.close());
  const file = join(dataDir, 'read-model.db');
  const model = await EmbeddedReadModel.open({
    file,
    logId: log.id,
    retention,
    head: (topic) => log.head(topic),
    onReplaced: (reason) =>
      logger.error({ file, reason, log: log.id }, 'the read model is rebuilt; the old file is kept'),
  });
  started.defer(() => model.close());
  return { log, model, feed: new InProcessProgressFeed(), missing: () => [], isOutdated: () => false, run: () => [] };
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
