import { ControlError } from '../contract/errors.js';
import type { LogEntry, Position } from './event-log.js';

export interface Append {
  readonly entries: readonly LogEntry[];
  readonly resolve: (positions: Position[]) => void;
  readonly reject: (error: unknown) => void;
}

export interface QueueBounds {
  readonly entries: number;
  readonly bytes: number;
  /** Of one record: key, headers and value. */
  readonly recordBytes: number;
}

/** An append in the queue, with its size as counted. */
export interface Queued {
  readonly append: Append;
  readonly bytes: number;
}

/** The appends that are not durable yet, bounded by count and bytes. */
export class AppendQueue {
  private waiting: Queued[] = [];
  private entries = 0;
  private bytes = 0;

  constructor(
    private readonly bounds: QueueBounds,
    private readonly sizeOf: (entry: LogEntry) => number = contentSize,
  ) {}

  get pending(): { readonly entries: number; readonly bytes: number } {
    return { entries: this.entries, bytes: this.bytes };
  }

  /** Adds the append, or returns why it is refused as a whole. */
  add(append: Append): ControlError | undefined {
    const { recordBytes } = this.bounds;
    let bytes = 0;
    for (const entry of append.entries) {
      const size = this.sizeOf(entry);
      if (size > recordBytes) {
        return new ControlError('payload_too_large', `a record may have at most ${recordBytes} bytes`, { bytes: size });
      }
      bytes += size;
    }
    const entries = append.entries.length;
    const full = this.entries + entries > this.bounds.entries || this.bytes + bytes > this.bounds.bytes;
    // An append larger than the whole queue is accepted alone: it could never be appended otherwise.
    if (full && this.entries > 0) return new ControlError('log_unavailable', 'the queue of the log is full; retry');
    this.waiting.push({ append, bytes });
    this.entries += entries;
    this.bytes += bytes;
    return undefined;
  }

  /** The oldest append. It stays pending until `release`. */
  take(): Queued | undefined {
    return this.waiting.shift();
  }

  /** The append is settled, and frees its share of the bounds. */
  release({ append, bytes }: Queued): void {
    this.entries -= append.entries.length;
    this.bytes -= bytes;
  }

  /** The oldest that wait, up to so many entries and bytes; one in any case. They stay pending until `release`. */
  takeUpTo(most: Pick<QueueBounds, 'entries' | 'bytes'>): readonly Queued[] {
    let [entries, bytes] = [0, 0];
    const excess = this.waiting.findIndex((one, at) => {
      entries += one.append.entries.length;
      bytes += one.bytes;
      return at > 0 && (entries > most.entries || bytes > most.bytes);
    });
    return this.waiting.splice(0, excess < 0 ? this.waiting.length : excess);
  }
}

function contentSize({ key, headers, value }: LogEntry): number {
  let size = value.byteLength + Buffer.byteLength(key);
  for (const name in headers) size += Buffer.byteLength(name) + Buffer.byteLength(headers[name] ?? '');
  return size;
}
