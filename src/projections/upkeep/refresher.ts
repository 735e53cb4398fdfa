import type { Logger } from 'pino';
import type { ReadModel } from '../../read-model/read-model.js';

/**
 * Decides when what was applied is made searchable: soon while somebody waits, seldom otherwise, and one refresh for all
 * that was applied before it began. A refresh that fails is tried again.
 */
export class Refresher {
  private timer: NodeJS.Timeout | undefined;
  private dueAt = Number.POSITIVE_INFINITY;
  private lastStart = 0;
  private running = false;
  private stopped = false;

  constructor(
    private readonly model: ReadModel,
    /** What has been applied at this moment, and what to do once that is searchable in a generation. */
    private readonly snapshot: () => (generation: number) => Promise<void>,
    private readonly logger: Logger,
  ) {}

  /** Resolves at once. */
  request(waited: boolean): void {
    const { refreshMs } = this.model;
    this.schedule(this.lastStart + (waited ? refreshMs.waited : refreshMs.idle));
  }

  /** Nothing is refreshed any more. */
  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private schedule(at: number): void {
    if (this.stopped || at >= this.dueAt) return;
    this.dueAt = at;
    clearTimeout(this.timer);
    if (!this.running) this.timer = setTimeout(() => this.refresh(), Math.max(0, at - performance.now()));
  }

  private async refresh(): Promise<void> {
    this.running = true;
    this.dueAt = Number.POSITIVE_INFINITY;
    this.lastStart = performance.now();
    const done = this.snapshot();
    try {
      await done(await this.model.refresh());
    } catch (error) {
      this.logger.error({ err: error }, 'what was applied could not be made searchable; trying again');
      this.schedule(this.lastStart + this.model.refreshMs.idle);
    }
    this.running = false;
    if (this.dueAt < Number.POSITIVE_INFINITY) {
      const at = this.dueAt;
      this.dueAt = Number.POSITIVE_INFINITY;
      this.schedule(at);
    }
  }
}
