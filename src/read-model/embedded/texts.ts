import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';

/** How many texts are kept in memory, and up to which length. */
const KEPT = { texts: 20_000, length: 1_000 };

/** In place of the number of a text that is not stored. */
const NO_TEXT = -1;

/**
 * The texts that rows repeat, each stored once: rows and indexes have its number. A text is never removed, and its number
 * never changes; what expired documents alone had goes with the next generation.
 */
export class Texts {
  private readonly numbers = new Map<string, number>();
  private readonly texts = new Map<number, string>();
  private readonly insert: StatementSync;
  private readonly last: StatementSync;
  private readonly byText: StatementSync;
  private readonly byNumber: StatementSync;

  constructor(db: DatabaseSync) {
    this.insert = db.prepare('INSERT INTO texts (id, text, crc) VALUES (?, ?, ?)');
    this.last = db.prepare('SELECT max(id) AS id FROM texts');
    this.byText = db.prepare('SELECT id, crc FROM texts WHERE text = ?');
    this.byNumber = db.prepare('SELECT text, crc FROM texts WHERE id = ?');
  }

  /** The number of a text; `NO_TEXT` if no row has it. */
  find(text: string): number {
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    const row = this.byText.get(text);
    if (!row) return NO_TEXT;
    const number = Number(row.id);
    if (row.crc !== checksum(number, text)) throw damaged();
    return this.keep(number, text);
  }

  /** The number of a text, which is stored if no row has it yet. */
  numberOf(text: string): number {
    const found = this.find(text);
    if (found !== NO_TEXT) return found;
    const number = Number(this.last.get()?.id ?? 0) + 1;
    this.insert.run(number, text, checksum(number, text));
    return this.keep(number, text);
  }

  textOf(number: number): string {
    const known = this.texts.get(number);
    if (known !== undefined) return known;
    const row = this.byNumber.get(number);
    if (typeof row?.text !== 'string' || row.crc !== checksum(number, row.text)) throw damaged();
    this.keep(number, row.text);
    return row.text;
  }

  /** A transaction was rolled back, perhaps with texts that it had stored. */
  forget(): void {
    this.numbers.clear();
    this.texts.clear();
  }

  private keep(number: number, text: string): number {
    // SQLite stores another text in place of one that is not well formed.
    if (text.length > KEPT.length || !text.isWellFormed()) return number;
    if (this.numbers.size >= KEPT.texts) this.forget();
    this.numbers.set(text, number);
    this.texts.set(number, text);
    return number;
  }
}

/** Covers the number too: a text under another number is as wrong as one that was changed. */
export function checksum(number: number, text: string): number {
  return crc32(text, number >>> 0);
}

function damaged(): Error {
  return new Error('a text in the read model is damaged: rebuild it with `svc rebuild`');
}
