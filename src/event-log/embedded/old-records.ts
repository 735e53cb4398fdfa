import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { sqliteFault } from '../../platform/sqlite.js';
import { CorruptRecord, type LogRecord, type Topic } from '../event-log.js';
import type { Numbered } from './layout.js';

/** One table a partition. */
export function tableName(topic: Topic, partition: number): string {
  return `${topic.replace('.', '_')}_${partition}`;
}

type Columns = [Row['offset'], Row['time'], Row['key'], Row['headers'], Row['value'], Row['crc']];

interface Row {
  readonly offset: number;
  readonly time: number;
  readonly key: string;
  readonly headers: string;
  readonly value: Uint8Array;
  readonly crc: number;
}

/** The records of a partition that the first format keeps in a table of `log.db`. They are only read. */
export class OldRecords {
  /** Behind the last record. */
  readonly next: number;
  readonly lastTime: number;
  private readonly table: string;
  private readonly place: string;
  private readonly select;

  constructor(
    db: DatabaseSync,
    file: string,
    private readonly of: Numbered,
  ) {
    this.table = tableName(of.topic, of.partition);
    this.place = `${file}: ${of.name}`;
    const last = db.prepare(`SELECT offset, time FROM ${this.table} ORDER BY offset DESC LIMIT 1`).get();
    this.next = last ? Number(last.offset) + 1 : 0;
    this.lastTime = Number(last?.time ?? 0);
    this.select = db.prepare(
      `SELECT offset, time, key, headers, value, crc FROM ${this.table} WHERE offset >= ? ORDER BY offset`,
    );
    this.select.setReturnArrays(true);
  }

  /** The records from `from` on. Throws `CorruptRecord` at one that is missing or was altered, after those before it. */
  *from(from: number): Generator<LogRecord> {
    let expected = from;
    try {
      for (const columns of this.select.iterate(from) as Iterable<unknown> as Iterable<Columns>) {
        yield this.checked(columns, expected);
        expected += 1;
      }
    } catch (error) {
      if (sqliteFault(error) !== 'corrupt') throw error;
      throw new CorruptRecord(`${this.place}: cannot be read from record ${expected} on`, { cause: error });
    }
    if (expected < this.next) throw new CorruptRecord(`${this.place}: record ${expected} is missing`);
  }

  private checked([offset, time, key, headers, value, crc]: Columns, expected: number): LogRecord {
    const { place } = this;
    const { topic, partition } = this.of;
    const row: Row = { offset, time, key, headers, value, crc };
    // Offsets are dense in this store, so a gap is a lost record.
    if (offset !== expected) throw new CorruptRecord(`${place}: record ${expected} is missing`);
    if (isWhole(row) && crc === checksum(this.table, row)) {
      return { topic, partition, offset, time, key, headers: JSON.parse(headers), value };
    }
    throw new CorruptRecord(`${place}: record ${offset} was altered`);
  }
}

/** Damage may change the type of a column, which the checksum function does not expect. */
function isWhole({ time, key, headers, value }: Row): boolean {
  return Number.isInteger(time) && typeof key === 'string' && typeof headers === 'string' && ArrayBuffer.isView(value);
}

/** Covers the position too: a record that was moved is as wrong as one that was changed. */
function checksum(table: string, row: Omit<Row, 'crc'>): number {
  return crc32(row.value, crc32(JSON.stringify([table, row.offset, row.time, row.key, row.headers])));
}
