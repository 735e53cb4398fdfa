import type { LogRecord } from '../event-log.js';

/** About what many bulks at once append before the first of them is indexed. */
const MOST_RECORDS = 10_000;
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * The newest records of a partition, without a gap, as they were appended: who reads along with the writer need not have
 * them read back from the file.
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

  /** Nothing from `offset` on was appended after all. */
  rewind(offset: number): void {
    this.keep(this.records.filter((record) => record.offset < offset));
  }

  /** At most so many records from `offset` on; empty where the oldest of them is not kept any more. */
  from(offset: number, most: number): readonly LogRecord[] {
    const first = this.records[0]?.offset ?? Number.POSITIVE_INFINITY;
    return offset < first ? [] : this.records.slice(offset - first, offset - first + most);
  }

  private dropOlderHalf(): void {
    this.keep(this.records.slice(Math.ceil(this.records.length / 2)));
  }

  private keep(records: LogRecord[]): void {
    this.records = records;
    this.bytes = records.reduce((sum, { value }) => sum + value.byteLength, 0);
  }
}
