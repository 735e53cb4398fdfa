import type { LogRecord, Topic, UnreadableRecord } from '../event-log/event-log.js';
import type { Write } from '../read-model/document.js';
import type { KindName } from '../read-model/kinds.js';

/** Turns records into documents: the same records always give the same writes. */
export interface Projection {
  readonly topic: Topic;
  /** The kinds of its documents. */
  readonly kinds: readonly KindName[];
  /** Whether it must read all records from the first, because later records depend on earlier ones. */
  readonly fromStart: boolean;
  /** Whether an unreadable record becomes a dead letter, or stops the projection. */
  readonly unreadable: 'dead-letter' | 'stop';
  /**
   * Of a projection that stops: resolves with true when an operator has the record skipped, so that it is read without an
   * effect, and with false when the signal aborts before. Absent: the process must not continue.
   */
  skipped?(record: LogRecord, error: UnreadableRecord, signal: AbortSignal): Promise<boolean>;
  /** A fresh projection, whenever partitions are assigned: earlier folds belong to the earlier assignment. */
  start(): Project;
  /** Instead of `start`: a projection that has seen all records before `from`, which is at most `next`. */
  resume?(next: number): Promise<{ readonly project: Project; readonly from: number }>;
}

/**
 * The writes of a record, in the order of the documents' ordinals; none for a record without effect, or if they are not
 * wanted because they were applied before. Called with each record once, in order. Throws `UnreadableRecord`.
 */
export type Project = (record: LogRecord, wanted?: boolean) => Write[];

/**
 * Projects the records; calls `skipped` and returns no writes for an unreadable one, unless the projection stops at it. No
 * error is passing: the same record always gives the same.
 */
export function skipUnreadable(
  { unreadable }: Projection,
  project: Project,
  skipped: (record: LogRecord, error: Error) => void,
): Project {
  return (record, wanted) => {
    try {
      return project(record, wanted);
    } catch (error) {
      if (unreadable === 'stop') throw error;
      skipped(record, error as Error);
      return [];
    }
  };
}
