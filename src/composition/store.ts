import { join } from 'node:path';
import type { Logger } from 'pino';
import { EmbeddedEventLog } from '../event-log/embedded/event-log.js';
import type { Backup, EventLog } from '../event-log/event-log.js';
import type { Clock } from '../platform/clock.js';
import { preparePrivateFolder } from '../platform/private-folder.js';
import type { Turns } from '../platform/turns.js';
import { InProcessProgressFeed, type ProgressFeed } from '../progress/progress-feed.js';
import { EmbeddedReadModel } from '../read-model/embedded/read-model.js';
import type { ReadModel } from '../read-model/read-model.js';
import type { Retention } from '../read-model/retention.js';

/** The log and the read model of a process, and the feed between them. */
export interface Store {
  readonly log: EventLog & Partial<Backup>;
  readonly model: ReadModel;
  readonly feed: ProgressFeed;
  /** Why it cannot be used at the moment; empty if it can. */
  missing(): string[];
  /** Whether an earlier version made the live read model, so that it must be rebuilt. */
  isOutdated(): boolean;
  /** The loops of the store; each resolves on abort, and rejects if the process cannot continue. */
  run(signal: AbortSignal): readonly Promise<void>[];
}

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
    records: log,
    retention,
    turns,
    head: (topic) => log.head(topic),
    onReplaced: (reason) =>
      logger.error({ file, reason, log: log.id }, 'the read model is rebuilt; the old file is kept'),
  });
  started.defer(() => model.close());
  return { log, model, feed: new InProcessProgressFeed(), missing: () => [], isOutdated: () => false, run: () => [] };
}
