import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { turnOfTheLoop } from '../../platform/waiting.js';
import type { KindName } from '../kinds.js';
import { type Limits, valueOfClass } from '../retention.js';
import { classColumn, type RowExpiry } from './condition.js';
import type { Tally } from './tally.js';
import type { Texts } from './texts.js';

/** Runs the work in a transaction of the database. */
export type Transaction = <Result>(work: () => Result) => Promise<Result>;

/** How many rows are removed at once, and counted at once, so that others get their turn in between. */
const REMOVED_AT_ONCE = 500;
const COUNTED_AT_ONCE = 10_000;

/** How long counting may hold the event loop, in milliseconds. */
const STEP_MS = 2;

/** How many rows of a class the log took before `to`. */
interface Counted {
  to: number;
  rows: number;
}

/**
 * The expired rows of a kind until a sweep removes them. Their number is kept in memory, so that no count examines one
 * twice.
 */
export class ExpiredRows {
  /** By organization and expiry class. */
  private readonly counted = new Map<string, Map<string, Counted>>();
  private readonly statements: ReturnType<typeof statementsOf>;

  constructor(
    private readonly db: DatabaseSync,
    private readonly kind: KindName,
    private readonly expiry: RowExpiry,
    private readonly tally: Tally,
    private readonly texts: Texts,
  ) {
    this.statements = statementsOf(db, kind);
  }

  /** A row was inserted (1) or deleted (-1). */
  changed(org: string, className: string, time: number, change: 1 | -1): void {
    const counted = this.counted.get(org)?.get(className);
    if (counted && time < counted.to) counted.rows += change;
  }

  /** Counts the organization's rows again, or those of all: a row was damaged, or a transaction rolled back. */
  recount(org?: string): void {
    if (org === undefined) this.counted.clear();
    else this.counted.delete(org);
  }

  /**
   * Removes the expired rows, a slice in each transaction. Stops early when the signal aborts or the database is closed.
   * Returns how many it removed.
   */
  async sweep(transaction: Transaction, signal: AbortSignal): Promise<number> {
    let removed = 0;
    for (const org of [...this.expiry.orgs(this.kind)]) {
      for (const [className, limit] of this.expiry.limits(this.kind, org)) {
        for (let rows = REMOVED_AT_ONCE; rows === REMOVED_AT_ONCE; removed += rows) {
          await turnOfTheLoop();
          if (signal.aborted || !this.db.isOpen) return removed;
          rows = await transaction(() => this.remove(org, className, limit));
        }
      }
    }
    return removed;
  }

  private remove(org: string, className: string, limit: number): number {
    const times = [...this.statements.remove.iterate(...this.numbers(org, className), limit)].map(({ time }) =>
      Number(time),
    );
    for (const time of times) this.changed(org, className, time, -1);
    this.tally.add(org, valueOfClass(this.kind, className), -times.length);
    return times.length;
  }

  /**
   * How many of the organization's documents have not expired, by value; undefined if the database was closed meanwhile.
   * Counts the expired ones in slices; the result is of one state.
   */
  async countLeft(org: string): Promise<ReadonlyMap<string, number> | undefined> {
    const limits = this.expiry.limits(this.kind, org);
    while (!this.countSlice(org, limits)) {
      await turnOfTheLoop();
      if (!this.db.isOpen) return undefined;
    }
    const counts = this.tally.of(org);
    for (const [className, { rows }] of limits.size > 0 ? (this.counted.get(org) ?? []) : []) {
      const value = valueOfClass(this.kind, className);
      counts.set(value, (counts.get(value) ?? 0) - rows);
    }
    return new Map([...counts].filter(([, count]) => count > 0));
  }

  /** Whether all expired rows are counted. */
  private countSlice(org: string, limits: Limits): boolean {
    const began = performance.now();
    for (const [className, limit] of limits) {
      const counted = this.countedOf(org, className);
      while (counted.to < limit) {
        if (performance.now() - began > STEP_MS) return false;
        const { ahead, between } = this.statements;
        const end = ahead.get(...this.numbers(org, className), counted.to, limit)?.time;
        const to = end === undefined ? limit : Math.max(Number(end), counted.to + 1);
        counted.rows += Number(between.get(...this.numbers(org, className), counted.to, to)?.rows);
        counted.to = to;
      }
    }
    return true;
  }

  private numbers(org: string, className: string): [number, number] {
    return [this.texts.find(org), this.texts.find(className)];
  }

  private countedOf(org: string, className: string): Counted {
    const ofOrg = this.counted.get(org) ?? new Map<string, Counted>();
    this.counted.set(org, ofOrg);
    const counted = ofOrg.get(className) ?? { to: Number.MIN_SAFE_INTEGER, rows: 0 };
    ofOrg.set(className, counted);
    return counted;
  }
}

function statementsOf(db: DatabaseSync, kind: KindName): Record<'remove' | 'ahead' | 'between', StatementSync> {
  const rows = `"${kind}" INDEXED BY "${kind}_expiry" WHERE org = ? AND ${classColumn(kind)} = ?`;
  return {
    remove: db.prepare(`DELETE FROM "${kind}" WHERE rowid IN
      (SELECT rowid FROM ${rows} AND time < ? ORDER BY time LIMIT ${REMOVED_AT_ONCE}) RETURNING time`),
    ahead: db.prepare(
      `SELECT time FROM ${rows} AND time >= ? AND time < ? ORDER BY time LIMIT 1 OFFSET ${COUNTED_AT_ONCE}`,
    ),
    between: db.prepare(`SELECT count(*) AS rows FROM ${rows} AND time >= ? AND time < ?`),
  };
}
