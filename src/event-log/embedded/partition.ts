import {
  type Batch,
  CorruptRecord,
  type LogEntry,
  type LogRecord,
  type Position,
  PositionOutOfRange,
} from '../event-log.js';
import { expectedFrame, frameTexts, frameTime, frameValue, type Place } from './frame.js';
import type { Numbered } from './layout.js';
import type { OldRecords } from './old-records.js';
import type { Places } from './places.js';
import { RecentRecords } from './recent-records.js';
import type { RecordsFile } from './records-file.js';

const BATCH_RECORDS = 500;
/** A reader processes a batch without yielding. */
const BATCH_BYTES = 1024 * 1024;

/** Records of other partitions between two of this one, read along instead of with another read. */
const GAP_BYTES = 64 * 1024;

/** What a partition consists of. */
export interface Parts extends Numbered {
  /** Its number among all partitions, in `log.records`. */
  readonly number: number;
  readonly records: RecordsFile;
  readonly places: Places;
  /** Where the records in `log.records` begin. */
  readonly first: number;
  /** The records before those, which the first format made. */
  readonly old: OldRecords | undefined;
}

/** One partition: the newest records in memory, the others in the file. */
export class Partition {
  private readonly recent = new RecentRecords();
  /** The time of the last record when the log was opened. */
  readonly openedAt: number;
  private readonly place: string;
  /** What is being written. */
  staged: LogRecord[] = [];

  /** Throws `CorruptRecord` if the last record is not sound. */
  constructor(
    readonly parts: Parts,
    /** The next offset. */
    public next: number,
  ) {
    const { name, first, old, records } = parts;
    this.place = `${records.file}: ${name}`;
    const [last] = next > first ? this.read(next - 1, 1) : [];
    this.openedAt = last?.time ?? old?.lastTime ?? 0;
  }

  /** The record follows the others that are staged. */
  stage({ key, headers, value, searched }: LogEntry, time: number): Position {
    const { topic, partition } = this.parts;
    const offset = this.next + this.staged.length;
    const record = { topic, partition, offset, time, key, headers, value };
    this.staged.push(searched ? { ...record, searched } : record);
    return { partition, offset };
  }

  /** Notes where the staged records are: the first of `places`, counted from `start`. Returns how many they are. */
  enter(start: number, places: readonly Place[]): number {
    const own = places.slice(0, this.staged.length);
    const moved = own.map(({ position, size }) => ({ position: start + position, size }));
    this.parts.places.write(this.next, moved);
    return own.length;
  }

  /** The staged records are durable. */
  accept(): void {
    for (const record of this.staged) this.recent.add(record);
    this.next += this.staged.length;
    this.staged = [];
  }

  discard(): void {
    this.staged = [];
  }

  /** Removes the places of records that are not to be there. When this resolves, none of them comes back. */
  async undo(): Promise<void> {
    this.parts.places.cut(this.next);
    await this.parts.places.sync();
  }

  /** The records from `offset` on, limited by count and bytes; undefined at the end. */
  batch(offset: number): Batch | undefined {
    if (offset >= this.next) return undefined;
    const records = this.limited(this.from(offset));
    return { partition: this.parts.partition, records, next: offset + records.length };
  }

  private from(offset: number): Iterable<LogRecord> {
    const known = this.recent.from(offset, BATCH_RECORDS);
    if (known.length > 0) return known;
    return offset < this.parts.first && this.parts.old ? this.parts.old.from(offset) : this.read(offset, BATCH_RECORDS);
  }

  private limited(found: Iterable<LogRecord>): LogRecord[] {
    const records: LogRecord[] = [];
    let bytes = 0;
    try {
      for (const record of found) {
        records.push(record);
        bytes += record.value.byteLength;
        if (bytes >= BATCH_BYTES || records.length === BATCH_RECORDS) break;
      }
    } catch (error) {
      // Return the sound records before the fault first.
      if (records.length === 0) throw error;
    }
    return records;
  }

  /** As in `RecordValues`. */
  value(offset: number): Uint8Array {
    if (!(offset >= 0 && offset < this.next)) {
      throw new PositionOutOfRange(`${this.place} ends at ${this.next}; it has no ${offset}`);
    }
    const known = this.recent.value(offset);
    if (known) return known;
    if (offset < this.parts.first) for (const { value } of this.parts.old?.from(offset) ?? []) return value;
    const [place] = this.parts.places.read(offset, 1);
    if (place) return frameValue(this.frame(this.parts.records.read(place), { ...place, position: 0 }, offset));
    throw new CorruptRecord(`${this.place}: record ${offset} is missing`);
  }

  /** At most so many records from `offset` on that lie close together in the file, read at once. */
  private read(offset: number, most: number): LogRecord[] {
    const { topic, partition, places, records } = this.parts;
    const run = closeTogether(places.read(offset, Math.min(most, this.next - offset)));
    const start = run[0]?.position ?? 0;
    const last = run.at(-1) ?? { position: start, size: 0 };
    const bytes = records.read({ position: start, size: last.position + last.size - start });
    const found: LogRecord[] = [];
    try {
      for (const { position, size } of run) {
        const frame = this.frame(bytes, { position: position - start, size }, offset + found.length);
        const { key, headers } = frameTexts(frame);
        const value = frameValue(frame);
        found.push({ topic, partition, offset: frame.offset, time: frameTime(frame), key, headers, value });
      }
    } catch (error) {
      if (found.length === 0) throw error;
    }
    return found;
  }

  private frame(bytes: Buffer, place: Place, offset: number) {
    const { number, records } = this.parts;
    const frame = expectedFrame(bytes, place, { partition: number, offset }, records.seed);
    if (frame) return frame;
    throw new CorruptRecord(`${this.place}: record ${offset} was altered`);
  }
}

/** The first places up to a gap, or up to `BATCH_BYTES`. */
function closeTogether(places: readonly Place[]): readonly Place[] {
  const start = places[0]?.position ?? 0;
  let end = start;
  const excess = places.findIndex(({ position, size }, at) => {
    const isApart = at > 0 && (position < end || position - end > GAP_BYTES || position + size - start > BATCH_BYTES);
    end = position + size;
    return isApart;
  });
  return excess < 0 ? places : places.slice(0, excess);
}
