import type { Topic } from '../event-log/event-log.js';

/** How far a projector is in one partition. Repeated periodically, so a late listener catches up. */
export interface ProgressUpdate {
  readonly topic: Topic;
  readonly generation: number;
  readonly partition: number;
  /** Next offset to index: everything before it is in the read model. */
  readonly indexed: number;
  /** Searches find everything before this offset. */
  readonly searchable: number;
  /**
   * Where the announcing process took the partition over. Other processes carried what is before it, and may have died
   * before they announced its outcomes; later outcomes were announced before this update. Absent: no other process did.
   */
  readonly since?: number;
  /** Only of records that did not become a document of their own. */
  readonly outcomes: readonly RecordOutcome[];
}

export interface RecordOutcome {
  readonly offset: number;
  readonly code: 'duplicate' | 'conflict' | 'dead_lettered';
  /** The event's identifier. */
  readonly id: string;
}

/** Announces to api processes what is searchable: in one process, or through a topic that every process tails. */
export interface ProgressFeed {
  publish(update: ProgressUpdate): Promise<void>;
  /** Calls the listener with every update from now on; returns the function that stops it. */
  subscribe(listener: (update: ProgressUpdate) => void): () => void;
}

/** The feed of one process: an update reaches its listeners before `publish` returns. */
export class InProcessProgressFeed implements ProgressFeed {
  private readonly listeners = new Set<(update: ProgressUpdate) => void>();

  async publish(update: ProgressUpdate): Promise<void> {
    for (const listener of this.listeners) listener(update);
  }

  subscribe(listener: (update: ProgressUpdate) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
