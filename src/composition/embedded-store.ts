import { join } from 'node:path';
import type { Logger } from 'pino';
import { EmbeddedEventLog } from '../event-log/embedded/event-log.js';
import type { Clock } from '../platform/clock.js';
import { preparePrivateFolder } from '../platform/private-folder.js';
import type { Turns } from '../platform/turns.js';
import { InProcessProgressFeed } from '../progress/in-process.js';
import { EmbeddedReadModel } from '../read-model/embedded/read-model.js';
import type { Retention } from '../read-model/read-model.js';
import type { Store } from './store.js';

/** Two files in the data folder. What it opens is closed with `started`. */
export async function openEmbeddedStore(
  dataDir: string,
  retention: Retention,
  clock: Clock,
  logger: Logger,
  started: AsyncDisposableStack,
  turns: Turns,
): Promise<Store> {
  preparePrivateFolder(dataDir, 'CONTROL_DATA_DIR', logger);
  const log = await EmbeddedEventLog.open({ file: join(dataDir, 'log.db'), clock });
  started.defer(() => log.close());
  const file = join(dataDir, 'read-model.db');
  const model = await EmbeddedReadModel.open({
    file,
    logId: log.id,
    retention,
    turns,
    head: (topic) => log.head(topic),
    onReplaced: (reason) =>
      logger.error({ file, reason, log: log.id }, 'the read model is rebuilt; the old file is kept'),
  });
  started.defer(() => model.close());
  return { log, model, feed: new InProcessProgressFeed(), missing: () => [], isOutdated: () => false, run: () => [] };
}
