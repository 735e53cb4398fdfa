import { ControlError } from '../errors.js';
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

/** The appends that wait for the next commit, bounded by count and bytes. */
export class AppendQueue {
  private appends: Append[] = [];
  private entries = 0;
  private bytes = 0;

  constructor(private readonly bounds: QueueBounds) {}

  get pending(): { readonly entries: number; readonly bytes: number } {
    return { entries: this.entries, bytes: this.bytes };
  }

  /** Takes the append, or answers why it cannot be taken; then nothing of it was. */
  add(append: Append): ControlError | undefined {
    const { recordBytes } = this.bounds;
    let bytes = 0;
    for (const entry of append.entries) {
      const size = sizeOf(entry);
      if (size > recordBytes) {
        return new ControlError('payload_too_large', `a record may have at most ${recordBytes} bytes`, { bytes: size });
      }
      bytes += size;
    }
    const entries = append.entries.length;
    const full = this.entries + entries > this.bounds.entries || this.bytes + bytes > this.bounds.bytes;
    // An append larger than the whole queue is taken when it is alone: it could never be taken otherwise.
    if (full && this.appends.length > 0) return new ControlError('log_unavailable', 'the queue of the log is full');
    this.appends.push(append);
    this.entries += entries;
    this.bytes += bytes;
    return undefined;
  }

  /** Everything that waits; afterwards nothing does. */
  takeAll(): readonly Append[] {
    const { appends } = this;
    this.appends = [];
    this.entries = 0;
    this.bytes = 0;
    return appends;
  }
}

function sizeOf({ key, headers, value }: LogEntry): number {
  let size = value.byteLength + Buffer.byteLength(key);
  for (const name in headers) size += Buffer.byteLength(name) + Buffer.byteLength(headers[name] ?? '');
  return size;
}
