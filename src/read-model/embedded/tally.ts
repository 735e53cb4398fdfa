import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { KindName } from '../kinds.js';
import { column, kindOf } from './row.js';

/** How many rows of a kind there are by the value of its `countBy` field. Changes once a transaction, not once a row. */
export interface Tally {
  add(org: string, value: unknown, count: 1 | -1): void;
  flush(): void;
  forget(): void;
  /** Of rows that may have been damaged, so that it is not known what they counted as. */
  recount(org: string): void;
  of(org: string): Map<string, number>;
}

/** Each row carries a checksum: a count that damage altered, or gave to another organization, is not told. */
export function tallyOf(db: DatabaseSync, name: KindName): Tally {
  const { countBy } = kindOf(name);
  /** In place of the kind: the sum over all values of an organization, so that a row that damage took away is missed. */
  const all = `${name}/all`;
  db.function('tally_crc', { deterministic: true, varargs: true }, (...row) => checksum(row));
  const upsert = db.prepare(
    `INSERT INTO tally VALUES (?1, ?2, ?3, ?4, tally_crc(?1, ?2, ?3, ?4)) ON CONFLICT DO UPDATE
     SET count = count + excluded.count, crc = tally_crc(kind, org, value, count + excluded.count)`,
  );
  const select = db.prepare('SELECT value, count, crc FROM tally WHERE kind = ? AND org = ? ORDER BY value');
  const changed = new Map<string, { readonly org: string; readonly value: string; count: number }>();
  // Writes come in runs of one organization and value.
  let last: { readonly org: string; readonly value: string; count: number } | undefined;
  const entryOf = (org: string, value: string) => {
    const key = JSON.stringify([org, value]);
    const entry = changed.get(key) ?? { org, value, count: 0 };
    changed.set(key, entry);
    return entry;
  };
  const forget = () => {
    changed.clear();
    last = undefined;
  };
  const rowsOf = (kind: string, org: string) => {
    const rows = select.all(kind, org);
    const isSound = rows.every(({ value, count, crc }) => crc === checksum([kind, org, value ?? null, count ?? null]));
    if (isSound) return rows.map(({ value, count }) => [String(value), Number(count)] as const);
    throw damaged(name);
  };
  return {
    add(org, value, count) {
      if (countBy === undefined || typeof value !== 'string') return;
      if (last?.org !== org || last.value !== value) last = entryOf(org, value);
      last.count += count;
    },
    flush() {
      for (const { org, value, count } of changed.values()) {
        upsert.run(name, org, value, count);
        upsert.run(all, org, '', count);
      }
      forget();
    },
    forget,
    recount(org) {
      if (countBy === undefined) return;
      const field = column(countBy);
      for (const [key, entry] of changed) if (entry.org === org) changed.delete(key);
      last = undefined;
      db.prepare('DELETE FROM tally WHERE kind IN (?, ?) AND org = ?').run(name, all, org);
      const counted = db.prepare(
        `SELECT ${field} AS value, count(*) AS count FROM "${name}" WHERE org = ? AND ${field} IS NOT NULL GROUP BY ${field}`,
      );
      for (const { value, count } of counted.all(org)) {
        upsert.run(name, org, String(value), Number(count));
        upsert.run(all, org, '', Number(count));
      }
    },
    of(org) {
      const counts = new Map(rowsOf(name, org));
      const [[, sum] = ['', 0]] = rowsOf(all, org);
      const isWhole = [...counts.values()].reduce((total, count) => total + count, 0) === sum;
      if (isWhole) return counts;
      throw damaged(name);
    },
  };
}

function damaged(name: KindName): Error {
  return new Error(`the read model is damaged at the counts of ${name}: \`svc rebuild\` makes it anew`);
}

function checksum(row: readonly SQLOutputValue[]): number {
  return crc32(JSON.stringify(row.map(String)));
}
