import type { DatabaseSync } from 'node:sqlite';
import type { Offsets, Topic } from '../../event-log/event-log.js';
import { turnOfTheLoop } from '../../platform/waiting.js';
import { partitionName, type StoredDocument } from '../document.js';
import type { KindName } from '../kinds.js';
import { type ScanRange, type StrayPage, type StrayRange } from '../read-model.js';
import { checkLimit } from '../search.js';
import { type Row, type RowFormat, rowReader } from './row.js';

/** The organizations of a kind, each found by one index lookup: there are far fewer organizations than rows. */
function orgsOf(kind: KindName): string {
  return `WITH RECURSIVE orgs (org) AS (SELECT min(org) FROM "${kind}" UNION ALL
    SELECT (SELECT min(org) FROM "${kind}" WHERE org > orgs.org) FROM orgs WHERE orgs.org IS NOT NULL)`;
}

/** The index has all of these columns. */
const PLACE = 'k.rowid AS rowid, k.org AS org, k.shard AS shard, k."offset" AS "offset", k.ordinal AS ordinal';

export function scanRows(db: DatabaseSync, rows: RowFormat, range: ScanRange): StoredDocument[] {
  const { kind, texts } = rows;
  const { from, to, after, limit } = range;
  checkLimit(limit);
  const select = db.prepare(`${orgsOf(kind)} SELECT ${PLACE} FROM orgs CROSS JOIN "${kind}" AS k
    WHERE k.org = orgs.org AND k.shard = ? AND k."offset" >= ? AND k."offset" < ?
    AND (k."offset", k.ordinal, k.rowid) > (?, ?, ?) ORDER BY k."offset", k.ordinal, k.rowid LIMIT ?`);
  const behind = after ? [after.place.offset, after.place.ordinal, Number(after.location)] : [-1, 0, 0];
  const found: Row[] = [];
  const shard = texts.find(partitionName(range));
  let start = Math.max(from, after?.place.offset ?? 0);
  // Offsets are dense, so a part of the range as wide as the page usually fills it; only that part is sorted.
  for (let width = limit; start < to && found.length < limit; width *= 2) {
    const end = Math.min(start + width, to);
    found.push(...select.all(shard, start, end, ...behind, limit - found.length));
    start = end;
  }
  const read = rowReader(db, kind);
  return found.map((indexed) => stored(rows, indexed, read));
}

/** Where a page of strays ended, in the order of the index. */
interface StrayEnd {
  readonly org: number;
  readonly shard: number;
  readonly row: readonly [offset: number, ordinal: number, rowid: number];
}

const FIRST: StrayEnd = { org: 0, shard: 0, row: [Number.MIN_SAFE_INTEGER, 0, 0] };

/** Undefined if the database was closed meanwhile. */
export async function strayRows(
  db: DatabaseSync,
  rows: RowFormat,
  ends: Readonly<Partial<Record<Topic, Offsets>>>,
  { limit, after }: StrayRange,
): Promise<StrayPage | undefined> {
  const { kind } = rows;
  checkLimit(limit);
  const start: StrayEnd = after === undefined ? FIRST : JSON.parse(after);
  const found: Row[] = [];
  for (const row of db.prepare(`${orgsOf(kind)} SELECT org FROM orgs WHERE org >= ?`).all(start.org)) {
    await turnOfTheLoop();
    if (!db.isOpen) return undefined;
    const org = Number(row.org);
    found.push(...straysOf(db, rows, ends, org === start.org ? start : { ...FIRST, org }, limit - found.length));
    if (found.length >= limit) break;
  }
  const read = rowReader(db, kind);
  const documents = found.map((indexed) => stored(rows, indexed, read));
  const last = found.length === limit ? found.at(-1) : undefined;
  return { documents, ...(last && { next: JSON.stringify(endAt(last)) }) };
}

function endAt({ org, shard, offset, ordinal, rowid }: Row): StrayEnd {
  return { org: Number(org), shard: Number(shard), row: [Number(offset), Number(ordinal), Number(rowid)] };
}

/** The strays of one organization, from where a page ended. */
function straysOf(
  db: DatabaseSync,
  rows: RowFormat,
  ends: Readonly<Partial<Record<Topic, Offsets>>>,
  { org, shard: firstShard, row: firstRow }: StrayEnd,
  limit: number,
): Row[] {
  const { kind } = rows;
  const shardThat = (comes: string) =>
    db.prepare(`SELECT shard FROM "${kind}" WHERE org = ? AND shard ${comes} ? ORDER BY shard LIMIT 1`);
  const rowsThat = (are: string) =>
    db.prepare(
      `SELECT ${PLACE} FROM "${kind}" AS k WHERE k.org = ? AND k.shard = ? AND k."offset" ${are} ?
       AND (k."offset", k.ordinal, k.rowid) > (?, ?, ?) ORDER BY k."offset", k.ordinal, k.rowid LIMIT ?`,
    );
  const [from, next] = [shardThat('>='), shardThat('>')];
  const [earlier, later] = [rowsThat('<'), rowsThat('>=')];
  const found: Row[] = [];
  for (let row = from.get(org, firstShard); row && found.length < limit; row = next.get(org, Number(row.shard))) {
    const shard = Number(row.shard);
    const { topic, partition } = rows.placeOf(row);
    const end = ends[topic] && (ends[topic][partition] ?? 0);
    if (end === undefined) continue;
    const behind = shard === firstShard ? firstRow : FIRST.row;
    found.push(...earlier.all(org, shard, 0, ...behind, limit - found.length));
    found.push(...later.all(org, shard, end, ...behind, limit - found.length));
  }
  return found;
}

/** A damaged row may name another position. The result has the position in the index, so that a scan continues behind it. */
function stored(rows: RowFormat, indexed: Row, read: (rowid: number) => Row | undefined): StoredDocument {
  const row = read(Number(indexed.rowid)) ?? {};
  const document = rows.storedOf(String(indexed.rowid), { ...indexed, ...row });
  const place = { ...rows.placeOf(indexed), time: document.place.time };
  const misplaced = document.misplaced || row.org !== indexed.org || !rows.isAtPlace(row, place);
  return { ...document, place, misplaced };
}
