import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { KindName } from '../kinds.js';
import { GenerationLost } from '../read-model.js';
import type { Condition } from './expiry.js';
import type { Row } from './row.js';

/** The columns that tell a row's place in an index, behind those that are the same along a path. */
export type Key = readonly [SQLInputValue, SQLInputValue];

/** A stretch of an index: all rows with the same first columns, between two bounds of the next. */
export interface IndexPath {
  readonly kind: KindName;
  /** The part of the index's name behind the kind's. */
  readonly index: string;
  /** What the index finds by itself. */
  readonly fixed: readonly Condition[];
  /** Names of the columns of the key. */
  readonly keys: readonly [string, string];
  readonly direction: 'ascending' | 'descending';
  /** On the first column of the key, where the path begins and ends. */
  readonly first?: Condition;
  readonly last?: Condition;
  /**
   * What the rows are looked at for, one by one: none of them may match. Asked for at each step, since some of it holds for
   * the statement that runs next.
   */
  readonly looked: () => readonly Condition[];
}

/** How long a step may take, in milliseconds, and how many rows it looks at: so many at first. */
const STEP_MS = 2;
const FIRST_ROWS = 256;
const FEWEST_ROWS = 32;
const MOST_ROWS = 16_384;

/**
 * Walks along an index in steps. SQLite does not come back from a row until it has one that matches, so each step gets an
 * end that the index knows. Nothing stays open between steps: what is written meanwhile is seen by the next.
 */
export class IndexWalk {
  /** Whether there is nothing more behind. */
  isDone = false;
  private rows = FIRST_ROWS;

  constructor(
    private readonly db: DatabaseSync,
    private readonly path: IndexPath,
    private after?: Key,
  ) {}

  /** Hands over the next rows that match, with these columns and the key's; a row that is not taken ends the step. */
  step(columns: string, take: (row: Row) => boolean): void {
    if (!this.db.isOpen) throw new GenerationLost('the generation is not there any more');
    const began = performance.now();
    const looked = this.path.looked();
    const end = looked.length > 0 ? this.endOfStep() : undefined;
    const conditions = [...this.stretch(end), ...looked];
    for (const row of this.select(columns, conditions, '')) {
      if (!take(row)) return;
      this.after = keyOf(this.path, row);
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

  /** The key of the last row that this step may look at; undefined where it may go to the end. */
  private endOfStep(): Key | undefined {
    const [row] = this.select('', this.stretch(undefined), `LIMIT 1 OFFSET ${this.rows - 1}`);
    return row && keyOf(this.path, row);
  }

  /** From behind the last row that was taken; each side has one bound, so that the index finds it. */
  private stretch(end: Key | undefined): readonly Condition[] {
    const { fixed, keys, direction, first, last } = this.path;
    const key = `(${keys.join(', ')})`;
    const [behind, upTo] = direction === 'ascending' ? ['>', '<='] : ['<', '>='];
    const from = this.after ? { sql: `${key} ${behind} (?, ?)`, values: this.after } : first;
    const to = end ? { sql: `${key} ${upTo} (?, ?)`, values: end } : last;
    return [...fixed, ...(from ? [from] : []), ...(to ? [to] : [])];
  }

  private select(columns: string, conditions: readonly Condition[], bound: string): Iterable<Row> {
    const { kind, index, keys, direction } = this.path;
    const word = direction === 'ascending' ? 'ASC' : 'DESC';
    const statement = this.db.prepare(
      `SELECT ${columns === '' ? keys.join(', ') : columns} FROM "${kind}" INDEXED BY "${kind}_${index}"
       WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}
       ORDER BY ${keys.map((name) => `${name} ${word}`).join(', ')} ${bound}`,
    );
    return statement.iterate(...conditions.flatMap(({ values }) => [...values])) as Iterable<Row>;
  }
}

function keyOf({ keys: [one, other] }: IndexPath, row: Row): Key {
  const value = (name: string) => row[name.replaceAll('"', '')] as SQLInputValue;
  return [value(one), value(other)];
}
