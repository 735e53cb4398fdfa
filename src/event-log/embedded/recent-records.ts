import type { LogRecord } from '../event-log.js';

/** About what many concurrent bulks append before the first of them is indexed. */
const MOST_RECORDS = 10_000;
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * The newest records of a partition, without a gap: a reader that keeps up with the writer does not read them back from the
 * file.
 */
export class RecentRecords {
  private records: LogRecord[] = [];
  private bytes = 0;

  /** The record that follows the last one added. */
  add(record: LogRecord): void {
    this.records.push(record);
    this.bytes += record.value.byteLength;
    if (this.records.length > MOST_RECORDS || this.bytes > MOST_BYTES) this.dropOlderHalf();
  }

  /** At most `most` records from `offset` on; empty if the first of them is no longer kept. */
  from(offset: number, most: number): readonly LogRecord[] {
    const first = this.records[0]?.offset ?? Number.POSITIVE_INFINITY;
    return offset < first ? [] : this.records.slice(offset - first, offset - first + most);
  }

  /** The value of the record, if it is kept. */
  value(offset: number): Uint8Array | undefined {
    const first = this.records[0]?.offset ?? Number.POSITIVE_INFINITY;
    return offset < first ? undefined : this.records[offset - first]?.value;
  }

  private dropOlderHalf(): void {
    this.records = this.records.slice(Math.ceil(this.records.length / 2));
    this.bytes = this.records.reduce((sum, { value }) => sum + value.byteLength, 0);
  }
}
