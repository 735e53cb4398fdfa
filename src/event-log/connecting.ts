import { ControlError } from '../contract/errors.js';
import { BackgroundConnect } from '../platform/background-connect.js';
import type { Batch, Consumer, EventLog, LogEntry, Offsets, Position, Topic } from './event-log.js';

/**
 * A log that may not be reachable yet. Until it is, appends are refused, readers wait, and `missing` is the reason. If it
 * can be reached but not used, `opened` rejects.
 */
export class ConnectingEventLog implements EventLog {
  private readonly opening: BackgroundConnect<EventLog>;

  constructor(name: string, open: () => Promise<EventLog>) {
    this.opening = new BackgroundConnect(name, open);
  }

  get opened(): Promise<EventLog> {
    return this.opening.opened;
  }

  /** Why the log cannot be used at the moment; undefined when it can. */
  get missing(): string | undefined {
    return this.opening.missing;
  }

  get id(): string {
    return this.now().id;
  }

  get pending(): EventLog['pending'] {
    return this.opening.store?.pending ?? { entries: 0, bytes: 0 };
  }

  async append(entries: readonly LogEntry[]): Promise<Position[]> {
    return this.now().append(entries);
  }

  async head(topic: Topic): Promise<Offsets> {
    return this.now().head(topic);
  }

  async beginning(topic: Topic): Promise<Offsets> {
    return this.now().beginning(topic);
  }

  async *read(topic: Topic, from: Offsets, signal: AbortSignal): AsyncGenerator<Batch> {
    const log = await this.opening.before(signal);
    if (log) yield* log.read(topic, from, signal);
  }

  async consume(topic: Topic, consumer: Consumer, signal: AbortSignal): Promise<void> {
    const log = await this.opening.before(signal);
    await log?.consume(topic, consumer, signal);
  }

  close(): Promise<void> {
    return this.opening.close();
  }

  private now(): EventLog {
    if (this.opening.store) return this.opening.store;
    throw new ControlError('log_unavailable', this.missing ?? 'the log is closed');
  }
}
