import type { DatabaseSync } from 'node:sqlite';
import { type Steps, tooCostly } from '../../platform/turns.js';
import { type Document, type Point, pointOf } from '../document.js';
import {
  type Direction,
  type Lane,
  type LastPage,
  type LastQuery,
  laterPoints,
  nearestLane,
  type Page,
  PageItems,
  type SearchQuery,
} from '../search.js';
import { conditionOf, ofOrg, type RowExpiry } from './condition.js';
import { shardsOf } from './database.js';
import { IndexWalk } from './index-walk.js';
import type { Row, RowFormat } from './row.js';
import { isImpossible, jobOf } from './search.js';

/** Where a row is in the order received. */
interface Entry {
  readonly rowid: number;
  readonly shard: string;
  readonly offset: number;
  readonly ordinal: number;
  readonly time: number;
}

/** The matching rows of a shard. */
interface ShardLane extends Lane {
  readonly ahead: Entry[];
  /** Whether the budget was spent before the end of the shard. */
  readonly isCut: boolean;
}

type Query = Pick<SearchQuery, 'org' | 'filters' | 'maxBytes' | 'budgetMs'>;

/** The order received of one organization, in one database. Queries are checked. */
export class ReceivedRows {
  constructor(
    private readonly db: DatabaseSync,
    private readonly expiry: RowExpiry,
    private readonly rows: RowFormat,
  ) {
    this.kind = rows.kind;
  }

  private readonly kind: RowFormat['kind'];

  *search(query: SearchQuery): Steps<Page> {
    const { org, offset = 0, limit, cursor } = query;
    const before = cursor && 'seen' in cursor ? cursor.seen : {};
    // Read first: whatever is stored during the search lies behind the cursor.
    const ends = this.ends(org);
    const lanes: ShardLane[] = [];
    for (const shard of this.shardsFor(query)) {
      lanes.push(yield* this.lane(query, shard, 'ascending', offset + limit + 1, before[shard]));
    }
    const merged = merge(lanes, offset + limit, 'ascending');
    const isShort = merged.length < offset + limit && lanes.some(({ isCut }) => isCut);
    if (isShort && merged.length <= offset) throw tooCostly(jobOf(query));
    const page = yield* this.documents(query, merged.slice(offset));
    const passed = merged.slice(0, offset + page.passed);
    const more = passed.length < merged.length || isShort || lanes.some(({ ahead }) => ahead.length > 0);
    const last = Object.fromEntries(passed.map((entry) => [entry.shard, pointOf(entry)]));
    // The rest does not match: later queries from here need not examine it again.
    const seen = laterPoints({ ...before, ...last }, more ? {} : ends);
    const isSomewhere = cursor !== undefined || Object.keys(seen).length > 0;
    return { items: page.items, more, ...(isSomewhere && { cursor: { seen } }) };
  }

  *last(query: LastQuery): Steps<LastPage> {
    const { org, limit } = query;
    // Read first: whatever is stored during the search lies behind the cursor, and is not among the last.
    const ends = this.ends(org);
    const lanes: ShardLane[] = [];
    for (const shard of limit > 0 ? this.shardsFor(query) : []) {
      const [offset, ordinal] = ends[shard] ?? [-1, 0];
      lanes.push(yield* this.lane(query, shard, 'descending', limit, [offset, ordinal + 1]));
    }
    if (lanes.some(({ isCut }) => isCut)) throw tooCostly(jobOf(query));
    const { items } = yield* this.documents(query, merge(lanes, limit, 'descending'));
    return { items: items.toReversed(), cursor: { seen: ends } };
  }

  /** The last point of each shard that has rows of the organization, expired or not. */
  private ends(org: string): Record<string, Point> {
    const statement = this.db.prepare(`SELECT "offset", ordinal FROM "${this.kind}" INDEXED BY "${this.kind}_received"
      WHERE org = ? AND deleted = 0 AND shard = ? ORDER BY "offset" DESC, ordinal DESC LIMIT 1`);
    const ends: Record<string, Point> = {};
    for (const shard of shardsOf(this.db)) {
      const row = statement.get(this.number(org), this.number(shard));
      if (row) ends[shard] = [Number(row.offset), Number(row.ordinal)];
    }
    return ends;
  }

  private shardsFor(query: Query): readonly string[] {
    return isImpossible(this.kind, query) ? [] : shardsOf(this.db);
  }

  /** The next rows of a shard; fewer than `count` only at its end, or when the budget is spent. */
  private *lane(query: Query, shard: string, direction: Direction, count: number, after?: Point): Steps<ShardLane> {
    const filters = query.filters.map((filter) => conditionOf(this.kind, this.rows.texts, filter));
    const path = {
      kind: this.kind,
      index: 'received',
      fixed: [ofOrg(this.rows.texts, query.org), { sql: 'shard = ?', values: [this.number(shard)] }],
      keys: ['"offset"', 'ordinal'] as const,
      direction,
      checked: () => [...filters, ...this.expiry.condition(this.kind, query)],
    };
    const walk = new IndexWalk(this.db, path, after);
    const ahead: Entry[] = [];
    while (!walk.isDone && ahead.length < count) {
      walk.step(['rowid', 'time'], ([offset, ordinal], [rowid, time]) => {
        if (ahead.length === count) return false;
        ahead.push({
          rowid: Number(rowid),
          shard,
          offset: Number(offset),
          ordinal: Number(ordinal),
          time: Number(time),
        });
        return true;
      });
      if (walk.isDone || ahead.length >= count) break;
      if (yield) return { ahead, isCut: true };
    }
    return { ahead, isCut: false };
  }

  /** Reads whole documents only for the page, in steps, until it is full. */
  private *documents(
    { org, maxBytes }: Query,
    entries: readonly Entry[],
  ): Steps<{ readonly items: Document[]; readonly passed: number }> {
    const page = new PageItems({ maxBytes });
    let passed = 0;
    for (const entry of entries) {
      if (page.isFull) break;
      passed += 1;
      const document = this.document(org, entry);
      if (!document) continue;
      page.add(document);
      if (yield) break;
    }
    return { items: page.items, passed };
  }

  /** Undefined for a row that was removed since its entry was read. */
  private document(org: string, entry: Entry): Document | undefined {
    const { db, kind } = this;
    const { rowid, shard, offset, ordinal } = entry;
    const row = db.prepare(`SELECT * FROM "${kind}" WHERE rowid = ?`).get(rowid);
    const number = this.number(org);
    if (row?.org === number && this.isEntry(row, entry)) return this.rows.documentOf(number, row);
    const indexed = db.prepare(`SELECT rowid FROM "${kind}" INDEXED BY "${kind}_received"
      WHERE org = ? AND shard = ? AND "offset" = ? AND ordinal = ?`);
    const isThere = indexed.get(number, this.number(shard), offset, ordinal)?.rowid === rowid;
    return isThere ? this.rows.documentOf(number, row ?? {}) : undefined;
  }

  private isEntry(row: Row, { shard, offset, ordinal }: Entry): boolean {
    return row.shard === this.number(shard) && row.offset === offset && row.ordinal === ordinal;
  }

  private number(text: string): number {
    return this.rows.texts.find(text);
  }
}

/** Takes up to `limit` entries off the lanes. Stops at a lane of which the next entry is not known. */
function merge(lanes: readonly ShardLane[], limit: number, direction: Direction): Entry[] {
  const taken: Entry[] = [];
  while (taken.length < limit && !lanes.some(({ ahead, isCut }) => isCut && ahead.length === 0)) {
    const next = nearestLane(lanes, direction)?.ahead.shift();
    if (!next) break;
    taken.push(next);
  }
  return taken;
}
