import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import type { Offsets, Topic } from '../event-log/event-log.js';
import type { StoredDocument } from './document.js';
import { isAtPlace, placeOf, type Row, rowReader, shardOf, storedOf } from './embedded-row.js';
import type { KindName } from './kinds.js';
import type { ScanRange } from './read-model.js';

/** The organizations of a kind, each found by one step in an index: there are far fewer of them than rows. */
function orgsOf(kind: KindName): string {
  return `WITH RECURSIVE orgs (org) AS (SELECT min(org) FROM "${kind}" UNION ALL
    SELECT (SELECT min(org) FROM "${kind}" WHERE org > orgs.org) FROM orgs WHERE orgs.org IS NOT NULL)`;
}

/** All of it is in the index. */
const PLACE = 'k.rowid AS rowid, k.org AS org, k.shard AS shard, k."offset" AS "offset", k.ordinal AS ordinal';

export function scanRows(db: DatabaseSync, kind: KindName, range: ScanRange): StoredDocument[] {
  const { from, to, after, limit } = range;
  checkLimit(limit);
  const select = db.prepare(`${orgsOf(kind)} SELECT ${PLACE} FROM orgs CROSS JOIN "${kind}" AS k
    WHERE k.org = orgs.org AND k.shard = ? AND k."offset" >= ? AND k."offset" < ?
    AND (k."offset", k.ordinal, k.rowid) > (?, ?, ?) ORDER BY k."offset", k.ordinal, k.rowid LIMIT ?`);
  const behind = after ? [after.place.offset, after.place.ordinal, Number(after.location)] : [-1, 0, 0];
  const found: Row[] = [];
  let start = Math.max(from, after?.place.offset ?? 0);
  // Offsets are dense, so a page is mostly found in a part of the range as wide as the page; only that much is sorted.
  for (let width = limit; start < to && found.length < limit; width *= 2) {
    const end = Math.min(start + width, to);
    found.push(...select.all(shardOf(range), start, end, ...behind, limit - found.length));
    start = end;
  }
  const read = rowReader(db, kind);
  return found.map((indexed) => stored(kind, indexed, read));
}

/** Undefined when the database was closed meanwhile. */
export async function strayRows(
  db: DatabaseSync,
  kind: KindName,
  ends: Readonly<Partial<Record<Topic, Offsets>>>,
  limit: number,
): Promise<StoredDocument[] | undefined> {
  checkLimit(limit);
  const found: StoredDocument[] = [];
  for (const { org } of db.prepare(`${orgsOf(kind)} SELECT org FROM orgs WHERE org IS NOT NULL`).all()) {
    await turn();
    if (!db.isOpen) return undefined;
    found.push(...straysOf(db, kind, String(org), ends, limit - found.length));
    if (found.length >= limit) break;
  }
  return found;
}

function straysOf(
  db: DatabaseSync,
  kind: KindName,
  org: string,
  ends: Readonly<Partial<Record<Topic, Offsets>>>,
  limit: number,
): StoredDocument[] {
  const next = db.prepare(`SELECT shard FROM "${kind}" WHERE org = ? AND shard > ? ORDER BY shard LIMIT 1`);
  const select = (beyond: string) =>
    db.prepare(
      `SELECT ${PLACE} FROM "${kind}" AS k WHERE k.org = ? AND k.shard = ? AND k."offset" ${beyond} ? LIMIT ?`,
    );
  const [later, earlier] = [select('>='), select('<')];
  const found: Row[] = [];
  for (let row = next.get(org, ''); row && found.length < limit; row = next.get(org, String(row.shard))) {
    const shard = String(row.shard);
    const { topic, partition } = placeOf(row);
    const end = ends[topic] && (ends[topic][partition] ?? 0);
    if (end === undefined) continue;
    found.push(...later.all(org, shard, end, limit - found.length));
    found.push(...earlier.all(org, shard, 0, limit - found.length));
  }
  const read = rowReader(db, kind);
  return found.map((indexed) => stored(kind, indexed, read));
}

function checkLimit(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) throw new Error('1 to 1000 documents at once');
}

/** A damaged row may say that it stands elsewhere; it is told where it was found, so that a scan goes on behind it. */
function stored(kind: KindName, indexed: Row, read: (rowid: number) => Row | undefined): StoredDocument {
  const row = read(Number(indexed.rowid)) ?? {};
  const document = storedOf(kind, String(indexed.rowid), { ...indexed, ...row });
  const place = { ...placeOf(indexed), time: document.place.time };
  const misplaced = document.misplaced || row.org !== indexed.org || !isAtPlace(row, place);
  return { ...document, place, misplaced };
}
