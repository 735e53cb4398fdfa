import { join } from 'node:path';
import type { Logger } from 'pino';
import { EmbeddedEventLog } from '../event-log/embedded/event-log.js';
import type { Backup, EventLog, Forgetting } from '../event-log/event-log.js';
import type { Clock } from '../platform/clock.js';
import { preparePrivateFolder } from '../platform/private-folder.js';
import type { Turns } from '../platform/turns.js';
import { InProcessProgressFeed, type ProgressFeed } from '../progress/progress-feed.js';
import { MemoryJobBoard } from '../read-model/embedded/job-board.js';
import { EmbeddedReadModel } from '../read-model/embedded/read-model.js';
import type { JobBoard } from '../read-model/job-board.js';
import type { ReadModel } from '../read-model/read-model.js';
import type { Retention } from '../read-model/retention.js';
import { EmbeddedTreeStore } from '../tree-store/embedded/tree-store.js';
import type { TreeStore } from '../tree-store/tree-store.js';

/** The log and the read model of a process, and the feed between them. */
export interface Store {
  readonly log: EventLog & Partial<Backup>;
  readonly model: ReadModel;
  /** Absent if expired records stay in the log. */
  readonly forgetting?: Forgetting;
  readonly feed: ProgressFeed;
  readonly board: JobBoard;
  /** The trees over the log, for the one that seals it. */
  readonly trees: TreeStore;
  /** The same trees, for the processes that read what another one seals; absent: there is only one process. */
  readonly sharedTrees?: TreeStore;
  /** Why it cannot be used at the moment; empty if it can. */
  missing(): string[];
  /** Whether an earlier version made the live read model, so that it must be rebuilt. */
  isOutdated(): boolean;
  /**
   * If the read model was made from another log or by a later version: puts an empty one in its place, to be filled from the
   * log. Resolves with the number of records that it is read with; undefined if the read model can be used.
   */
  replaceUnusable(): Promise<number | undefined>;
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
  const trees = EmbeddedTreeStore.open({
    file: join(dataDir, 'tlog.db'),
    log: log.id,
    onReplaced: (reason) => logger.warn({ reason }, 'the trees over the log are made anew; the old file is kept'),
  });
  started.defer(() => trees.close());
  const [feed, board] = [new InProcessProgressFeed(), new MemoryJobBoard()];
  return {
    ...{ log, model, feed, board, trees },
    missing: () => [],
    isOutdated: () => false,
    replaceUnusable: async () => undefined,
    run: () => [],
  };
}
