import type { ProgressFeed, ProgressUpdate } from './progress-feed.js';

/** Projector and api are one process: an update reaches its listeners before `publish` returns, and none comes late. */
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
