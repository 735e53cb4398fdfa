import type { Backup } from '../event-log/backup.js';
import type { EventLog } from '../event-log/event-log.js';
import type { ProgressFeed } from '../progress/progress-feed.js';
import type { ReadModel } from '../read-model/read-model.js';

/** What the service keeps its data in. */
export interface Store {
  readonly log: EventLog & Partial<Backup>;
  readonly model: ReadModel;
  readonly feed: ProgressFeed;
  /** What keeps it from being used at the moment; nothing when it can be. */
  missing(): string[];
  /** Whether the read model that serves was made by an earlier version, and must be rebuilt. */
  isOutdated(): boolean;
  /** What must go on as long as the service runs; each rejects when the process cannot go on, and resolves on abort. */
  run(signal: AbortSignal): readonly Promise<void>[];
}
