import type { DatabaseSync } from 'node:sqlite';
import { turnOfTheLoop } from '../../platform/waiting.js';
import { valueOfClass } from '../expiry-class.js';
import type { Expiry, Limits } from './expiry.js';
import type { Spot } from './marks.js';
import { shardsOf } from './schema.js';
import type { KindTable } from './table.js';
import { type RowsBehind, rowsBehind, type Walker, walk } from './walk.js';

/** Rows that are looked at in one go, so that others get their turn in between. */
const SLICE = 500;

/** Runs the work in a transaction of the database that the tables are in. */
export type Transaction = <Result>(work: () => Result) => Result;

/**
 * Removes the expired documents of a kind, in transactions of a slice each; ends early when the signal aborts or the
 * database is closed. Answers how many it removed.
 */
export async function sweepTable(
  db: DatabaseSync,
  table: KindTable,
  expiry: Expiry,
  transaction: Transaction,
  signal: AbortSignal,
): Promise<number> {
  const orgs = expiry.orgs(table.name);
  if (orgs.length === 0) return 0;
  const rows = rowsBehind(db, table.name);
  let removed = 0;
  for (const org of orgs) {
    const limits = expiry.limits(table.name, org);
    for (const shard of limits.size > 0 ? shardsOf(db) : []) {
      for (let more = true; more; ) {
        await turnOfTheLoop();
        if (signal.aborted || !db.isOpen) return removed;
        const slice = sweepSlice(table, org, shard, limits, rows, transaction);
        removed += slice.removed;
        more = slice.more;
      }
    }
  }
  return removed;
}

function sweepSlice(
  table: KindTable,
  org: string,
  shard: string,
  limits: Limits,
  rows: RowsBehind,
  transaction: Transaction,
): { removed: number; more: boolean } {
  const walkers = walkersOf(limits, (value) => table.marks.swept(org, shard, value));
  const { expired, moved, more } = walk(walkers, (spot) => rows(org, shard, spot), SLICE);
  if (moved.length > 0) {
    transaction(() => {
      table.sweepAway(org, shard, expired);
      for (const { value, at } of moved) table.marks.sweptTo(org, shard, value, at);
    });
  }
  return { removed: expired.length, more };
}

/**
 * How many documents of the organization have not expired, by value; undefined when the database was closed meanwhile.
 * Counts the expired ones in slices; the last slice and the answer are of one state.
 */
export async function countTable(
  db: DatabaseSync,
  table: KindTable,
  expiry: Expiry,
  org: string,
): Promise<ReadonlyMap<string, number> | undefined> {
  const limits = expiry.limits(table.name, org);
  if (limits.size > 0) {
    const rows = rowsBehind(db, table.name);
    while (!countSlice(db, table, org, limits, rows)) {
      await turnOfTheLoop();
      if (!db.isOpen) return undefined;
    }
  }
  const counts = table.tally.of(org);
  for (const [name, hidden] of table.marks.hidden(org)) {
    const value = valueOfClass(table.name, name);
    counts.set(value, (counts.get(value) ?? 0) - hidden);
  }
  return new Map([...counts].filter(([, count]) => count > 0));
}

/** Whether all expired documents are counted. */
function countSlice(db: DatabaseSync, table: KindTable, org: string, limits: Limits, rows: RowsBehind): boolean {
  for (const shard of shardsOf(db)) {
    const walkers = walkersOf(limits, (value) => table.marks.counted(org, shard, value));
    const { expired, moved, more } = walk(walkers, (spot) => rows(org, shard, spot), SLICE);
    const byValue = Map.groupBy(expired, ({ value }) => value);
    for (const { value, at } of moved) {
      table.marks.countedTo(org, shard, value, at, byValue.get(value)?.length ?? 0);
    }
    if (more) return false;
  }
  return true;
}

function walkersOf(limits: Limits, at: (value: string) => Spot): Walker[] {
  return [...limits].map(([value, limit]) => ({ value, limit, at: at(value) }));
}
