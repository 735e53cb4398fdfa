import { setTimeout as delay } from 'node:timers/promises';
import { ControlError } from '../errors.js';
import {
  type Batch,
  type Consumer,
  type EventLog,
  type LogEntry,
  type Offsets,
  type Position,
  StoreUnusable,
  type Topic,
} from './event-log.js';

const RETRY_MS = 1_000;

/**
 * A log that may not be reachable yet: opened in the background, again and again until it is. Meanwhile appends are
 * refused, readers wait, and `missing` says why. A log that can be reached and cannot be used is not waited for:
 * `opened` rejects.
 */
export class LateEventLog implements EventLog {
  private log: EventLog | undefined;
  private reason = 'not tried yet';
  private readonly stop = new AbortController();
  readonly opened: Promise<EventLog>;

  constructor(
    private readonly name: string,
    open: () => Promise<EventLog>,
  ) {
    this.opened = this.keepOpening(open);
    this.opened.catch(() => undefined);
  }

  private async keepOpening(open: () => Promise<EventLog>): Promise<EventLog> {
    for (;;) {
      this.stop.signal.throwIfAborted();
      try {
        const log = await open();
        if (this.stop.signal.aborted) await log.close();
        this.log = log;
        return log;
      } catch (error) {
        if (error instanceof StoreUnusable) throw error;
        this.reason = (error as Error).message;
      }
      await delay(RETRY_MS, undefined, { signal: this.stop.signal });
    }
  }

  /** Why the log cannot be used at the moment; undefined when it can. */
  get missing(): string | undefined {
    return this.log ? undefined : `${this.name} cannot be reached: ${this.reason}`;
  }

  get id(): string {
    return this.now().id;
  }

  get pending(): EventLog['pending'] {
    return this.log?.pending ?? { entries: 0, bytes: 0 };
  }

  async append(entries: readonly LogEntry[]): Promise<Position[]> {
    return this.now().append(entries);
  }

  async head(topic: Topic): Promise<Offsets> {
    return this.now().head(topic);
  }

  async *read(topic: Topic, from: Offsets, signal: AbortSignal): AsyncGenerator<Batch> {
    const log = await this.untilOpened(signal);
    if (log) yield* log.read(topic, from, signal);
  }

  async consume(topic: Topic, consumer: Consumer, signal: AbortSignal): Promise<void> {
    const log = await this.untilOpened(signal);
    await log?.consume(topic, consumer, signal);
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.opened.catch(() => undefined);
    await this.log?.close();
  }

  private now(): EventLog {
    if (this.log) return this.log;
    throw new ControlError('log_unavailable', this.missing ?? 'the log is closed');
  }

  /** Undefined when the signal aborts before. */
  private untilOpened(signal: AbortSignal): Promise<EventLog | undefined> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return resolve(undefined);
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
      this.opened.then(resolve, (error) => (this.stop.signal.aborted ? resolve(undefined) : reject(error)));
    });
  }
}
