import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { KindName } from '../kinds.js';

/** A place in the order received of one organization and shard. */
export type Spot = readonly [offset: number, ordinal: number];

const BEGINNING: Spot = [-1, 0];

export function isBefore(one: Spot, other: Spot): boolean {
  return one[0] < other[0] || (one[0] === other[0] && one[1] < other[1]);
}

interface Mark {
  /** No document of the value stands here or before. */
  swept: Spot;
  /** All documents of the value from there to here have expired. */
  counted: Spot;
  /** So many are those. */
  hidden: number;
}

/**
 * How far the expired documents of a kind are swept and counted, by organization, shard and value, so that none is walked
 * over twice. What is swept is in the file and changes in the transaction of the rows; what is only counted is kept in
 * memory.
 */
export class Marks {
  /** By organization, shard and value. */
  private readonly marks = new Map<string, Map<string, Map<string, Mark>>>();
  private readonly upsert: StatementSync;

  constructor(
    private readonly db: DatabaseSync,
    private readonly kind: KindName,
  ) {
    this.upsert = db.prepare(
      `INSERT INTO swept (kind, org, shard, value, "offset", ordinal) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET "offset" = excluded."offset", ordinal = excluded.ordinal`,
    );
    this.load();
  }

  /** As the file has it, for what was not committed. */
  load(): void {
    this.marks.clear();
    const rows = this.db.prepare('SELECT org, shard, value, "offset", ordinal FROM swept WHERE kind = ?');
    for (const row of rows.all(this.kind)) {
      const mark = this.mark(String(row.org), String(row.shard), String(row.value));
      mark.swept = [Number(row.offset), Number(row.ordinal)];
      mark.counted = mark.swept;
    }
  }

  swept(org: string, shard: string, value: string): Spot {
    return this.find(org, shard, value)?.swept ?? BEGINNING;
  }

  counted(org: string, shard: string, value: string): Spot {
    return this.find(org, shard, value)?.counted ?? BEGINNING;
  }

  /** How many of the values have expired and are counted, but not swept. */
  hidden(org: string): ReadonlyMap<string, number> {
    const hidden = new Map<string, number>();
    for (const byValue of this.marks.get(org)?.values() ?? []) {
      for (const [value, mark] of byValue) hidden.set(value, (hidden.get(value) ?? 0) + mark.hidden);
    }
    return hidden;
  }

  /** Of the value nothing is left here and before. */
  sweptTo(org: string, shard: string, value: string, spot: Spot): void {
    const mark = this.mark(org, shard, value);
    this.write(org, shard, value, mark, spot);
    if (isBefore(mark.counted, spot)) this.countAgain(mark);
  }

  /** So many more of the value have expired up to here. */
  countedTo(org: string, shard: string, value: string, spot: Spot, more: number): void {
    const mark = this.mark(org, shard, value);
    mark.counted = spot;
    mark.hidden += more;
  }

  inserted(org: string, shard: string, value: string, spot: Spot): void {
    const mark = this.find(org, shard, value);
    if (!mark || isBefore(mark.counted, spot)) return;
    if (!isBefore(mark.swept, spot)) this.write(org, shard, value, mark, [spot[0], spot[1] - 1]);
    this.countAgain(mark);
  }

  deleted(org: string, shard: string, value: string, spot: Spot): void {
    const mark = this.find(org, shard, value);
    if (mark && isBefore(mark.swept, spot) && !isBefore(mark.counted, spot)) mark.hidden -= 1;
  }

  /** For a document of which it is not known where it stood. */
  deletedSomewhere(org: string): void {
    for (const byValue of this.marks.get(org)?.values() ?? []) {
      for (const mark of byValue.values()) this.countAgain(mark);
    }
  }

  private countAgain(mark: Mark): void {
    mark.counted = mark.swept;
    mark.hidden = 0;
  }

  private write(org: string, shard: string, value: string, mark: Mark, spot: Spot): void {
    this.upsert.run(this.kind, org, shard, value, ...spot);
    mark.swept = spot;
  }

  private find(org: string, shard: string, value: string): Mark | undefined {
    return this.marks.get(org)?.get(shard)?.get(value);
  }

  private mark(org: string, shard: string, value: string): Mark {
    const byShard = valueAt(this.marks, org, () => new Map<string, Map<string, Mark>>());
    const byValue = valueAt(byShard, shard, () => new Map<string, Mark>());
    return valueAt(byValue, value, () => ({ swept: BEGINNING, counted: BEGINNING, hidden: 0 }));
  }
}

/** The value of the key, made where there is none. */
function valueAt<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
