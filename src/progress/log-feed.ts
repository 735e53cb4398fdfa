import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { ControlError } from '../contract/errors.js';
import { deadLetter } from '../event-log/dead-letter.js';
import { type EventLog, type LogRecord, type Offsets, PositionOutOfRange } from '../event-log/event-log.js';
import type { LogClock } from '../platform/log-clock.js';
import { untilDone } from '../platform/retry.js';
import type { ServiceSecret } from '../platform/service-secret.js';
import { pause, together } from '../platform/waiting.js';
import { InProcessProgressFeed, type ProgressFeed, type ProgressUpdate } from './progress-feed.js';

const VERSION = '1';

/** The key of records that measure the time of the log. */
const TIME = 'time';

/** How often the time of the log is measured, and how soon again after a failure. */
const MEASURE_MS = 10_000;
const MEASURE_AGAIN_MS = 500;

/** A system's clock that is further from the log's than this is worth a warning. */
const MOST_APART_MS = 30_000;

const OTHER_SECRET =
  'ignores progress that was announced under another secret: give all processes the same CONTROL_SECRET; if they have it, somebody else writes to Kafka';

/**
 * The feed of many processes: projectors append their progress to the topic `progress`, and every process tails it from
 * its end. Updates are repeated, so earlier ones need not be read. Every process measures the time of the log there, too.
 *
 * A publish returns 201 because of what an update says, so each carries an HMAC under the service's secret. An update of this
 * log that somebody appends again has no effect: progress never goes backward.
 */
export class LogProgressFeed implements ProgressFeed {
  private readonly local = new InProcessProgressFeed();
  private readonly tailed = Promise.withResolvers<void>();
  private tailing = false;
  /** What is appended to be read back, and when it was sent. */
  private sent = { mark: '', at: 0 };
  private isApart = false;
  private hasRefused = false;

  constructor(
    private readonly log: EventLog,
    private readonly logger: Logger,
    private readonly clock: LogClock,
    private readonly secret: ServiceSecret,
  ) {
    this.tailed.promise.catch(() => undefined);
  }

  /** Resolves when the update is in the log; rejects as `append` does. */
  async publish(update: ProgressUpdate): Promise<void> {
    const { topic, partition } = update;
    const text = JSON.stringify(update);
    const headers = { v: VERSION, mac: this.macOf(text) };
    await this.log.append([{ topic: 'progress', key: `${topic}/${partition}`, headers, value: Buffer.from(text) }]);
  }

  subscribe(listener: (update: ProgressUpdate) => void): () => void {
    return this.local.subscribe(listener);
  }

  /** Whether every update from now on reaches the listeners, and the time of the log is known. */
  get isTailing(): boolean {
    return this.tailing;
  }

  /** Resolves when `isTailing` becomes true; rejects with `log_unavailable` if it is closed before. */
  get started(): Promise<void> {
    return this.tailed.promise;
  }

  close(): void {
    this.tailed.reject(new ControlError('log_unavailable', 'the process stops'));
  }

  /** Resolves when the signal aborts; rejects when the log cannot be read on. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const head = await untilDone(signal, () => this.log.head('progress'), refuseOthers);
      if (!head) return;
      try {
        await together(signal, [(all) => this.tail(head, all), (all) => this.measure(all)]);
      } catch (error) {
        if (!(error instanceof PositionOutOfRange)) throw error;
        // The tail fell behind the retention of the topic. Later updates replace what it missed.
        this.logger.warn({ err: error }, 'the tail of the progress topic starts again at its end');
      }
    }
  }

  /** Every process that tails the topic does; letters of one record are one. */
  private async bury(record: LogRecord): Promise<void> {
    const reason = record.undecodable ?? 'is not a progress update of this service';
    this.logger.warn({ offset: record.offset, reason }, 'ignored a record of the topic progress');
    await this.log.append([deadLetter({ record, reason })]).catch(refuseOthers);
  }

  /** Not buried: a process with another secret makes one for each of its updates. */
  private refuse(offset: number): void {
    if (!this.hasRefused) this.logger.error({ offset }, OTHER_SECRET);
    this.hasRefused = true;
  }

  private async tail(from: Offsets, signal: AbortSignal): Promise<void> {
    for await (const { records } of this.log.read('progress', from, signal)) {
      for (const record of records) {
        const { headers, offset, key } = record;
        const isTime = headers.v === VERSION && key === TIME;
        const update = headers.v === VERSION && !isTime ? this.updateIn(record) : undefined;
        if (isTime) this.readBack(record);
        else if (update) await this.local.publish(update);
        else if (headers.v === VERSION && headers.mac !== undefined) this.refuse(offset);
        else if (headers.v === undefined || headers.v === VERSION) await this.bury(record);
        else this.logger.warn({ offset, version: headers.v }, 'ignored a progress update of another version');
      }
    }
  }

  /** Undefined for what somebody else appended. */
  private updateIn({ value, headers }: LogRecord): ProgressUpdate | undefined {
    const text = Buffer.from(value).toString();
    return headers.mac === this.macOf(text) ? (JSON.parse(text) as ProgressUpdate) : undefined;
  }

  /** The updates of another log under the same secret are not this one's. */
  private macOf(text: string): string {
    return this.secret.derived('progress', `${this.log.id}\n${text}`);
  }

  /** Appends a record now and then, for `readBack`. */
  private async measure(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.sent = { mark: randomUUID(), at: performance.now() };
      const entry = {
        topic: 'progress',
        key: TIME,
        headers: { v: VERSION },
        value: Buffer.from(this.sent.mark),
      } as const;
      const sent = this.log.append([entry]).then(() => MEASURE_MS);
      const wait = await sent.catch((error) => {
        refuseOthers(error);
        return MEASURE_AGAIN_MS;
      });
      await pause(wait, signal, { ref: false });
    }
  }

  private readBack({ value, time }: LogRecord): void {
    // That of another process.
    if (Buffer.from(value).toString() !== this.sent.mark) return;
    this.clock.measure(time, this.sent.at, performance.now());
    this.tailing = true;
    this.tailed.resolve();
    const aheadMs = this.clock.systemAheadMs;
    const isApart = Math.abs(aheadMs) > MOST_APART_MS;
    if (isApart && !this.isApart) {
      this.logger.warn({ aheadMs }, "this system's clock is not Kafka's, by which the service goes: set it (NTP)");
    }
    this.isApart = isApart;
  }
}

/** The log may be unreachable for a while; any other error is a fault of the program. */
function refuseOthers(error: unknown): void {
  if (!(error instanceof ControlError)) throw error;
}
