import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { KindName } from '../kinds.js';
import { GenerationLost } from '../read-model.js';
import type { Direction } from '../search.js';
import type { Condition } from './condition.js';

/** The columns that order the rows of a path, behind those that are the same along it. */
type Key = readonly [SQLInputValue, SQLInputValue];

/** A range of an index: all rows with the same first columns, between two bounds of the next. */
export interface IndexPath {
  readonly kind: KindName;
  /** The part of the index's name behind the kind's. */
  readonly index: string;
  /** The conditions on the first columns. */
  readonly fixed: readonly Condition[];
  /** Names of the columns of the key. */
  readonly keys: readonly [string, string];
  readonly direction: Direction;
  /** Bounds on the first column of the key: where the path begins and ends. */
  readonly first?: Condition;
  readonly last?: Condition;
  /**
   * The conditions that each row is checked for; possibly no row matches. Asked for at each step, because some of them
   * hold only for the statement that runs next.
   */
  readonly checked: () => readonly Condition[];
}

/** How long a step may take, in milliseconds, and how many rows it checks: `FIRST_ROWS` in the first step. */
const STEP_MS = 2;
const FIRST_ROWS = 256;
const FEWEST_ROWS = 32;
const MOST_ROWS = 16_384;

/**
 * Walks along an index in steps. SQLite returns only when it has found a matching row, so each step has a bound on the
 * index. No statement stays open between steps: the next step sees what is written meanwhile.
 */
export class IndexWalk {
  /** Whether the end is reached. */
  isDone = false;
  private rows = FIRST_ROWS;

  constructor(
    private readonly db: DatabaseSync,
    private readonly path: IndexPath,
    private after?: Key,
  ) {}

  /** Passes the values of the next matching rows to `take`: its key, and these columns. A row that it refuses ends the step. */
  step(columns: readonly string[], take: (key: Key, values: readonly unknown[]) => boolean): void {
    if (!this.db.isOpen) throw new GenerationLost('the generation no longer exists');
    const began = performance.now();
    const checked = this.path.checked();
    const end = checked.length > 0 ? this.endOfStep() : undefined;
    const conditions = [...this.range(end), ...checked];
    for (const row of this.select(columns, conditions, '')) {
      const [one, other, ...values] = row;
      const key: Key = [one as SQLInputValue, other as SQLInputValue];
      if (!take(key, values)) return;
      this.after = key;
      if (performance.now() - began > STEP_MS) return;
    }
    if (end) this.after = end;
    else this.isDone = true;
    this.adapt(performance.now() - began);
  }

  private adapt(tookMs: number): void {
    if (tookMs > STEP_MS) this.rows = Math.max(FEWEST_ROWS, this.rows / 2);
    else if (tookMs < STEP_MS / 2) this.rows = Math.min(MOST_ROWS, this.rows * 2);
  }

  /** The key of the last row that this step may check; undefined if it may go to the end. */
  private endOfStep(): Key | undefined {
    const [row] = this.select([], this.range(undefined), `LIMIT 1 OFFSET ${this.rows - 1}`);
    return row as Key | undefined;
  }

  /** From behind the last row taken; each side has one bound, so that the index applies it. */
  private range(end: Key | undefined): readonly Condition[] {
    const { fixed, keys, direction, first, last } = this.path;
    const key = `(${keys.join(', ')})`;
    const [behind, upTo] = direction === 'ascending' ? ['>', '<='] : ['<', '>='];
    const from = this.after ? { sql: `${key} ${behind} (?, ?)`, values: this.after } : first;
    const to = end ? { sql: `${key} ${upTo} (?, ?)`, values: end } : last;
    return [...fixed, ...(from ? [from] : []), ...(to ? [to] : [])];
  }

  private select(columns: readonly string[], conditions: readonly Condition[], bound: string): Iterable<unknown[]> {
    const { kind, index, keys, direction } = this.path;
    const word = direction === 'ascending' ? 'ASC' : 'DESC';
    const statement = prepared(
      this.db,
      `SELECT ${[...keys, ...columns].join(', ')} FROM "${kind}" INDEXED BY "${kind}_${index}"
       WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}
       ORDER BY ${keys.map((name) => `${name} ${word}`).join(', ')} ${bound}`,
    );
    return statement.iterate(...conditions.flatMap(({ values }) => [...values])) as Iterable<unknown> as Iterable<
      unknown[]
    >;
  }
}

/** How many statements a database keeps: searches are alike. */
const KEPT_STATEMENTS = 100;
const statements = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

/** A statement that gives each row as an array. No two iterations of it may be under way at once. */
function prepared(db: DatabaseSync, sql: string): StatementSync {
  const kept = statements.get(db) ?? new Map<string, StatementSync>();
  statements.set(db, kept);
  const known = kept.get(sql);
  if (known) return known;
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  if (kept.size >= KEPT_STATEMENTS) kept.clear();
  kept.set(sql, statement);
  return statement;
}
