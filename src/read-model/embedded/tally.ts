import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { type KindName, kindOf } from '../kinds.js';
import { textOf } from './condition.js';
import { column } from './row.js';
import type { Texts } from './texts.js';

/**
 * How many rows of a kind there are by the value of its `countBy` field. Written once a transaction, not once a row. Each
 * count has a checksum, and so does their sum by organization: a count is rejected if damage altered it, gave it to another
 * organization, or removed it. An organization without any count must not have rows.
 */
export class Tally {
  /** Changes of the transaction by organization and value. */
  private readonly changes = new Map<string, Map<string, number>>();
  private readonly upsert: StatementSync;
  private readonly select: StatementSync;
  /** In place of the kind, with an empty value: the sum over all values of an organization. */
  private readonly all: string;

  constructor(
    private readonly db: DatabaseSync,
    private readonly kind: KindName,
    private readonly texts: Texts,
  ) {
    this.all = `${kind}/all`;
    db.function('tally_crc', { deterministic: true, varargs: true }, (...row) => checksum(row));
    this.upsert = db.prepare(
      `INSERT INTO tally VALUES (?1, ?2, ?3, ?4, tally_crc(?1, ?2, ?3, ?4)) ON CONFLICT DO UPDATE
       SET count = count + excluded.count, crc = tally_crc(kind, org, value, count + excluded.count)`,
    );
    this.select = db.prepare('SELECT value, count, crc FROM tally WHERE kind = ? AND org = ? ORDER BY value');
  }

  add(org: string, value: unknown, count: number): void {
    if (kindOf(this.kind).countBy === undefined || typeof value !== 'string') return;
    const counts = this.changes.get(org) ?? new Map<string, number>();
    this.changes.set(org, counts.set(value, (counts.get(value) ?? 0) + count));
  }

  flush(): void {
    for (const [org, counts] of this.changes) {
      for (const [value, count] of counts) this.write(org, value, count);
    }
    this.forget();
  }

  forget(): void {
    this.changes.clear();
  }

  /** Counts the rows: one was damaged, so it is not known which value it counted as. */
  recount(org: string): void {
    const { countBy } = kindOf(this.kind);
    if (countBy === undefined) return;
    this.changes.delete(org);
    this.db.prepare('DELETE FROM tally WHERE kind IN (?, ?) AND org = ?').run(this.kind, this.all, org);
    const field = column(countBy);
    const counted = this.db.prepare(
      `SELECT ${textOf(field)} AS value, count(*) AS count FROM "${this.kind}"
       WHERE org = ? AND ${field} IS NOT NULL GROUP BY ${field}`,
    );
    for (const { value, count } of counted.all(this.texts.find(org))) this.write(org, String(value), Number(count));
  }

  of(org: string): Map<string, number> {
    const counts = new Map(this.rows(this.kind, org));
    const [[, sum] = ['', 0]] = this.rows(this.all, org);
    const total = [...counts.values()].reduce((all, count) => all + count, 0);
    if (total !== sum || (counts.size === 0 && this.hasCountedRows(org))) throw this.damaged();
    return counts;
  }

  private write(org: string, value: string, count: number): void {
    this.upsert.run(this.kind, org, value, count);
    this.upsert.run(this.all, org, '', count);
  }

  private rows(kind: string, org: string): (readonly [string, number])[] {
    const rows = this.select.all(kind, org);
    const isSound = rows.every(({ value, count, crc }) => crc === checksum([kind, org, value ?? null, count ?? null]));
    if (isSound) return rows.map(({ value, count }) => [String(value), Number(count)] as const);
    throw this.damaged();
  }

  private hasCountedRows(org: string): boolean {
    const { countBy } = kindOf(this.kind);
    if (countBy === undefined) return false;
    const one = `SELECT 1 FROM "${this.kind}" WHERE org = ? AND ${column(countBy)} IS NOT NULL LIMIT 1`;
    return this.db.prepare(one).get(this.texts.find(org)) !== undefined;
  }

  private damaged(): Error {
    return new Error(`the read model's counts of ${this.kind} are damaged: rebuild it with \`svc rebuild\``);
  }
}

function checksum(row: readonly SQLOutputValue[]): number {
  return crc32(JSON.stringify(row.map(String)));
}
