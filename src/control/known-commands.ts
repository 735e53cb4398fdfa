import { DigestTable, type TableImage } from './digest-table.js';

/** How long a command is known after its record, by the log's clock. */
export const KNOWN_MS = 24 * 60 * 60 * 1_000;

/** For how many records at most, so that no writer fills the memory of the others. */
export const KNOWN_RECORDS = 1_000_000;

export interface CommandsImage {
  readonly offset: number;
  readonly clock: number;
  readonly table: TableImage;
}

/** The offset of a record, and when the log took it. */
export interface LogPosition {
  readonly offset: number;
  readonly time: number;
}

/**
 * The recently applied commands, with the offsets of their records. What is forgotten depends on the log alone, so every
 * process and every replay forgets the same at the same record: the clock is the latest time of any record so far.
 */
export class KnownCommands {
  private at = 0;
  private clock = 0;
  private readonly table = new DigestTable<readonly [offset: number, clock: number]>(2, (row) => this.isKnown(row));

  /** Of the record of the last `advance`. */
  get offset(): number {
    return this.at;
  }

  /** Advances to this record. Call it before the record is folded. */
  advance({ offset, time }: LogPosition): void {
    this.at = offset;
    this.clock = Math.max(this.clock, time);
  }

  /** The record of the last `advance` applied this command. */
  add(commandId: string): void {
    this.table.set(commandId, [this.at, this.clock]);
  }

  /** The offset of the record that applied the command, while it is known. */
  offsetOf(commandId: string): number | undefined {
    const row = this.table.get(commandId);
    return row && this.isKnown(row) ? row[0] : undefined;
  }

  image(): CommandsImage {
    return { offset: this.at, clock: this.clock, table: this.table.image() };
  }

  restore({ offset, clock, table }: CommandsImage): void {
    this.at = offset;
    this.clock = clock;
    this.table.restore(table);
  }

  private isKnown([offset, clock]: readonly [number, number]): boolean {
    return this.clock - clock < KNOWN_MS && this.at - offset < KNOWN_RECORDS;
  }
}
