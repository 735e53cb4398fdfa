import type { Topic } from '../event-log/event-log.js';

/** What a projector has done of one partition. Repeated now and then, so a late listener catches up. */
export interface ProgressUpdate {
  readonly topic: Topic;
  readonly generation: number;
  readonly partition: number;
  /** Next offset to index: everything before it is in the read model. */
  readonly indexed: number;
  /** Everything before it is found by searches too. */
  readonly searchable: number;
  /**
   * Where the one who says so took over. What lies before was carried by others, who may have died before they announced
   * its outcomes; of everything from here on they came before this. Absent: nothing was carried by others.
   */
  readonly since?: number;
  /** Only of records that did not simply end up as their own document. */
  readonly outcomes: readonly RecordOutcome[];
}

export interface RecordOutcome {
  readonly offset: number;
  readonly code: 'duplicate' | 'conflict' | 'dead_lettered';
  /** The event's identifier. */
  readonly id: string;
}

/** How projectors tell api processes what is searchable: in-process, or a topic that every instance tails. */
export interface ProgressFeed {
  publish(update: ProgressUpdate): Promise<void>;
  /** Calls the listener with every update from now on; returns what stops it. */
  subscribe(listener: (update: ProgressUpdate) => void): () => void;
}
