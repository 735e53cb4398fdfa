import type { Logger } from 'pino';
import type { ReadModel } from '../read-model/read-model.js';

/**
 * Schedules refreshes: soon while a publisher waits, seldom otherwise, and one for everything applied before it begins. A
 * refresh that fails is retried.
 */
export class Refresher {
  private timer: NodeJS.Timeout | undefined;
  private dueAt = Number.POSITIVE_INFINITY;
  private lastStart = 0;
  private running = false;
  private stopped = false;

  constructor(
    private readonly model: ReadModel,
    /** Notes what is applied at this moment; the result is called once that is searchable in a generation. */
    private readonly snapshot: () => (generation: number) => Promise<void>,
    private readonly logger: Logger,
  ) {}

  request(waited: boolean): void {
    const { refreshMs } = this.model;
    this.schedule(this.lastStart + (waited ? refreshMs.waited : refreshMs.idle));
  }

  /** No refresh begins after this. */
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
      const generation = await this.model.refresh();
      // The next refresh need not wait for this; what is lost is announced again with the next progress.
      done(generation).catch((error) => this.logger.warn({ err: error }, 'a refresh could not be announced'));
    } catch (error) {
      this.logger.error({ err: error }, 'the read model could not be refreshed; retrying');
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
