import type { LogRecord, Topic } from '../event-log/event-log.js';
import type { Write } from '../read-model/document.js';
import type { KindName } from '../read-model/kinds.js';

/** Turns records into documents: the same records always give the same writes. */
export interface Projection {
  readonly topic: Topic;
  /** Of which its documents are. */
  readonly kinds: readonly KindName[];
  /** Whether it must see every record from the first, also those that are indexed already, to know what the next means. */
  readonly fromStart: boolean;
  /** Whether a record that can never be read is put aside, so that the rest goes on, or ends the projection. */
  readonly unreadable: 'dead-letter' | 'stop';
  /** A fresh start, made whenever partitions are taken over: what was folded before belongs to the old start. */
  start(): Project;
  /** In place of `start`, one that has seen all records before `from` already, which is at most `next`. */
  resume?(next: number): Promise<{ readonly project: Project; readonly from: number }>;
}

/**
 * What a record means for the read model, in the order of the documents' ordinals; nothing for a record without
 * effect, or where the writes are not wanted because they were made before. Called with each record once, in order. Throws
 * `UnreadableRecord`.
 */
export type Project = (record: LogRecord, wanted?: boolean) => Write[];
