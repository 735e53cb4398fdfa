import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Offsets, Topic } from '../../event-log/event-log.js';
import { Checkpoints } from '../../platform/sqlite.js';
import type { Turns } from '../../platform/turns.js';
import {
  type Document,
  isSamePartition,
  type Outcome,
  type Position,
  type StoredDocument,
  type Write,
} from '../document.js';
import { KIND_NAMES, type KindName } from '../kinds.js';
import {
  type Generation,
  GenerationLost,
  type Progress,
  type ScanRange,
  type StrayPage,
  type StrayRange,
} from '../read-model.js';
import type { Retention } from '../retention.js';
import { checkLast, checkSearch, type LastPage, type LastQuery, type Page, type SearchQuery } from '../search.js';
import { RowExpiry } from './condition.js';
import { metaOf, progressIn } from './database.js';
import { ReceivedRows } from './received.js';
import { scanRows, strayRows } from './scan.js';
import { jobOf, searchByField } from './search.js';
import type { Transaction } from './sweep.js';
import { KindTable } from './table.js';

/** A generation is one database, and is lost when the database is closed. */
export class EmbeddedGeneration implements Generation {
  readonly number: number;
  private readonly expiry: RowExpiry;
  private readonly tables: Readonly<Record<KindName, KindTable>>;
  private readonly nextOf: StatementSync;
  private readonly advance: StatementSync;
  private readonly checkpoints = new Checkpoints();

  constructor(
    private readonly database: DatabaseSync,
    retention: Retention,
    private readonly turns: Turns,
  ) {
    this.number = metaOf(database).generation;
    this.expiry = new RowExpiry(database, retention);
    this.tables = Object.fromEntries(
      KIND_NAMES.map((kind) => [kind, new KindTable(database, kind, this.expiry)]),
    ) as Record<KindName, KindTable>;
    this.nextOf = database.prepare('SELECT next FROM progress WHERE topic = ? AND partition = ?');
    this.advance = database.prepare(
      `INSERT INTO progress (topic, partition, next) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET next = max(next, excluded.next)`,
    );
  }

  async apply(topic: Topic, writes: readonly Write[], progress: Offsets, from: Offsets = {}): Promise<Outcome[]> {
    return this.transaction(() => {
      this.requireReached(topic, from);
      const outcomes = writes.map((write) => ({ code: this.tables[write.kind].apply(write), id: write.id }));
      this.notePartitions(writes);
      for (const [partition, next] of Object.entries(progress)) this.advance.run(topic, Number(partition), next);
      this.checkpoints.wrote(this.database, bytesOf(writes));
      return outcomes;
    });
  }

  async get(kind: KindName, org: string, id: string): Promise<Document | undefined> {
    this.open();
    return this.tables[kind].get(org, id);
  }

  async search(kind: KindName, query: SearchQuery): Promise<Page> {
    checkSearch(kind, query);
    const { order } = query;
    const db = this.open();
    const steps =
      order === 'received'
        ? new ReceivedRows(db, this.expiry, kind).search(query)
        : searchByField(db, this.expiry, kind, query, order);
    return this.turns.run(jobOf(query), steps);
  }

  async last(kind: KindName, query: LastQuery): Promise<LastPage> {
    checkLast(kind, query);
    return this.turns.run(jobOf(query), new ReceivedRows(this.open(), this.expiry, kind).last(query));
  }

  async count(kind: KindName, org: string): Promise<ReadonlyMap<string, number>> {
    this.open();
    return (await this.tables[kind].count(org)) ?? lost();
  }

  async progress(topic: Topic): Promise<Progress> {
    return { generation: this.number, next: this.reached()[topic] ?? {} };
  }

  /** The progress of every topic that has any. */
  reached(): Readonly<Partial<Record<Topic, Offsets>>> {
    return progressIn(this.open());
  }

  /** Searches see a commit at once. */
  async refresh(): Promise<number> {
    this.open();
    return this.number;
  }

  async sweep(signal: AbortSignal): Promise<number> {
    const db = this.open();
    let removed = 0;
    for (const table of Object.values(this.tables)) {
      if (db.isOpen) removed += await table.sweep(this.transaction, signal);
    }
    return removed;
  }

  async scan(kind: KindName, range: ScanRange): Promise<readonly StoredDocument[]> {
    return scanRows(this.open(), kind, range);
  }

  async strays(kind: KindName, ends: Readonly<Partial<Record<Topic, Offsets>>>, range: StrayRange): Promise<StrayPage> {
    return (await strayRows(this.open(), kind, ends, range)) ?? lost();
  }

  async overwrite(write: Write): Promise<void> {
    this.transaction(() => {
      this.tables[write.kind].overwrite(write);
      this.notePartitions([write]);
    });
  }

  async remove(kind: KindName, document: StoredDocument): Promise<void> {
    this.transaction(() => this.tables[kind].remove(document));
  }

  /** Checkpoints everything committed into the file itself, synced. */
  checkpoint(): void {
    const done = this.open().prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
    if (done?.busy !== 0) throw new Error(`${this.database.location()} could not be checkpointed`);
  }

  close(): void {
    if (this.database.isOpen) this.database.close();
  }

  private requireReached(topic: Topic, from: Offsets): void {
    for (const [partition, offset] of Object.entries(from)) {
      const next = Number(this.nextOf.get(topic, Number(partition))?.next ?? 0);
      if (next < offset) throw new GenerationLost('the generation is behind its earlier progress');
    }
  }

  /** Every partition that has documents has a progress, also before any was reported. */
  private notePartitions(writes: readonly Write[]): void {
    let last: Position | undefined;
    for (const { place } of writes) {
      // Writes come in runs of one partition.
      if (last && isSamePartition(place, last)) continue;
      this.advance.run(place.topic, place.partition, 0);
      last = place;
    }
  }

  private readonly transaction: Transaction = (work) => {
    const db = this.open();
    db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      for (const table of Object.values(this.tables)) table.flush();
      db.exec('COMMIT');
      return result;
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      for (const table of Object.values(this.tables)) table.forget();
      throw error;
    }
  };

  private open(): DatabaseSync {
    return this.database.isOpen ? this.database : lost();
  }
}

function lost(): never {
  throw new GenerationLost('the generation no longer exists');
}

function bytesOf(writes: readonly Write[]): number {
  return writes.reduce((sum, write) => sum + (write.op === 'delete' ? 0 : write.source.length), 0);
}
