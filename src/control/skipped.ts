import type { Logger } from 'pino';
import { deadRecordOf, placeName } from '../event-log/dead-letter.js';
import { type EventLog, type LogRecord, UnreadableRecord } from '../event-log/event-log.js';
import { readRange } from '../event-log/read-range.js';
import { untilDone } from '../platform/retry.js';
import { pause } from '../platform/waiting.js';

/** How often a process that stopped at a record looks whether an operator has it skipped. */
const LOOK_MS = 1_000;

/**
 * The records of `control` that an operator has skipped: each has a dead letter. A letter has an effect only if its record
 * cannot be read, so every process says the same of every record, whenever it reads it.
 */
export class SkippedRecords {
  private readonly known = new Set<number>();
  /** Of `audit.dead`. */
  private next = 0;
  private stopped: string | undefined;

  constructor(
    private readonly log: EventLog,
    private readonly logger: Logger,
  ) {}

  /** Why this process does not read on; undefined if it does. */
  get stoppedBecause(): string | undefined {
    return this.stopped;
  }

  /** Whether a record at this offset of `control` has a letter, as far as this process has looked. */
  has(offset: number): boolean {
    return this.known.has(offset);
  }

  /** Resolves with true when the record is skipped, and with false when the signal aborts before. */
  async wait(record: LogRecord, { message }: UnreadableRecord, signal: AbortSignal): Promise<boolean> {
    const place = placeName(record);
    const reason = `${place} ${message}; if it is not a record of this service, skip it: svc dead-letter skip ${place}`;
    try {
      while (!signal.aborted) {
        await untilDone(
          signal,
          () => this.look(signal),
          () => undefined,
        );
        if (this.has(record.offset)) return true;
        if (!this.stopped) this.logger.error({ place, reason: message }, 'control cannot be read on');
        this.stopped = reason;
        await pause(LOOK_MS, signal, { ref: false });
      }
      return false;
    } finally {
      this.stopped = undefined;
    }
  }

  private async look(signal: AbortSignal): Promise<void> {
    const end = await this.log.head('audit.dead');
    for await (const { records, next } of readRange(this.log, 'audit.dead', { 0: this.next }, end, signal)) {
      for (const record of records) this.note(record);
      this.next = next;
    }
  }

  private note(record: LogRecord): void {
    try {
      const dead = deadRecordOf(record);
      if (dead.says === 'dead' && dead.letter.topic === 'control') this.known.add(dead.letter.offset);
    } catch (error) {
      if (!(error instanceof UnreadableRecord)) throw error;
    }
  }
}
