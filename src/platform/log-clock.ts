import type { Clock } from './clock.js';

/**
 * The time of a log that other processes write too, so that all of them decide by the same time, whatever their systems say:
 * what has expired, whether a lease has lapsed. It is measured with records: the log gave each its time between the moments
 * when it was sent and when it was read back; a system's time between them stands. Between two measurements it goes on by
 * the monotonic clock.
 */
export class LogClock implements Clock {
  /** The log's time when the monotonic clock was 0; until it is measured, the system's. */
  private origin: number;

  constructor(
    private readonly system: Clock,
    private readonly monotonic = () => performance.now(),
  ) {
    this.origin = system.now() - monotonic();
  }

  now(): number {
    return Math.floor(this.origin + this.monotonic());
  }

  /** The log gave a record this time after `sent` and before `read`, both by the monotonic clock. */
  measure(time: number, sent: number, read: number): void {
    // Whole milliseconds: the log's clock was up to one later.
    const [least, most] = [time - read, time + 1 - sent];
    this.origin = Math.min(most, Math.max(least, this.origin));
  }

  /** By how many milliseconds the system's clock is ahead; negative if it is behind. */
  get systemAheadMs(): number {
    return this.system.now() - this.now();
  }
}
