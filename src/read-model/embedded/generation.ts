import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { ControlError } from '../../contract/errors.js';
import type { Offsets, RecordValues, Topic } from '../../event-log/event-log.js';
import type { Turns } from '../../platform/turns.js';
import { WalCheckpoints } from '../../platform/wal-checkpoints.js';
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
import { checkStats, type Stats, type StatsQuery } from '../stats.js';
import { SeldomCommits, type Weight } from './commits.js';
import { RowExpiry } from './condition.js';
import { metaOf, progressIn } from './database.js';
import { ReceivedRows } from './received.js';
import { RowFormat } from './row.js';
import { scanRows, strayRows } from './scan.js';
import { jobOf, searchByField } from './search.js';
import { statsOf } from './stats.js';
import type { Transaction } from './sweep.js';
import { KindTable } from './table.js';
import { Texts } from './texts.js';

/** 256 MiB of the write-ahead log. A start after a crash reads all of it. */
const WAL_PAGES = 65_536;

/** Offsets by topic and partition. */
type Points = ReadonlyMap<string, number>;

export interface GenerationParts {
  readonly retention: Retention;
  readonly turns: Turns;
  /** The log, for the documents that are its records. */
  readonly records: RecordValues;
}

/** A generation is one database, and is lost when the database is closed. */
export class EmbeddedGeneration implements Generation {
  readonly number: number;
  private readonly expiry: RowExpiry;
  private readonly tables: Readonly<Record<KindName, KindTable>>;
  private readonly turns: Turns;
  private readonly advance: StatementSync;
  private readonly texts: Texts;
  private readonly commits: SeldomCommits;
  readonly checkpoints: WalCheckpoints;
  /** The progress of what was applied, of what the callers know to be applied, and of what was committed. */
  private applied: Points;
  private told: Points;
  private committed: Points;
  /** Set after a loss, until everything that had been applied is applied again. */
  private lost: { readonly reason: unknown; readonly until: Points } | undefined;
  private losses = 0;

  constructor(
    private readonly database: DatabaseSync,
    { retention, turns, records }: GenerationParts,
  ) {
    this.number = metaOf(database).generation;
    this.turns = turns;
    this.texts = new Texts(database);
    this.expiry = new RowExpiry(database, this.texts, retention);
    this.tables = Object.fromEntries(
      KIND_NAMES.map((kind) => [kind, new KindTable(database, new RowFormat(kind, this.texts, records), this.expiry)]),
    ) as Record<KindName, KindTable>;
    this.applied = this.told = this.committed = pointsOf(progressIn(database));
    this.checkpoints = new WalCheckpoints(database.location() ?? '', WAL_PAGES);
    this.commits = new SeldomCommits(database, {
      completing: () => {
        for (const table of Object.values(this.tables)) table.flush();
      },
      undone: () => this.forget(),
      committed: () => {
        this.committed = this.applied;
        this.checkpoints.committed();
      },
      lost: (reason) => this.fallBack(reason),
    });
    this.advance = database.prepare(
      `INSERT INTO progress (topic, partition, next) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET next = max(next, excluded.next)`,
    );
  }

  async apply(topic: Topic, writes: readonly Write[], progress: Offsets, from: Offsets = {}): Promise<Outcome[]> {
    const outcomes = await this.write(() => {
      this.requireReached(topic, from);
      const codes = writes.map((write) => ({ code: this.tables[write.kind].apply(write), id: write.id }));
      this.notePartitions(writes);
      for (const [partition, next] of Object.entries(progress)) this.advance.run(topic, Number(partition), next);
      return codes;
    }, weightOf(writes));
    this.applied = laterOf(this.applied, pointsOf({ [topic]: progress }));
    this.commits.commitIfDue();
    this.told = this.applied;
    this.noteRecovery();
    return outcomes;
  }

  async get(kind: KindName, org: string, id: string): Promise<Document | undefined> {
    this.readable();
    return this.tables[kind].get(org, id);
  }

  async search(kind: KindName, query: SearchQuery): Promise<Page> {
    checkSearch(kind, query);
    const { order } = query;
    const { rows } = this.tables[kind];
    return this.reading((db) => {
      const steps =
        order === 'received'
          ? new ReceivedRows(db, this.expiry, rows).search(query)
          : searchByField(db, this.expiry, rows, query, order);
      return this.turns.run(jobOf(query), steps);
    });
  }

  async last(kind: KindName, query: LastQuery): Promise<LastPage> {
    checkLast(kind, query);
    const { rows } = this.tables[kind];
    return this.reading((db) => this.turns.run(jobOf(query), new ReceivedRows(db, this.expiry, rows).last(query)));
  }

  async count(kind: KindName, org: string): Promise<ReadonlyMap<string, number>> {
    return this.reading(async () => (await this.tables[kind].count(org)) ?? gone());
  }

  async stats(kind: KindName, query: StatsQuery): Promise<Stats> {
    checkStats(kind, query);
    return this.reading((db) => this.turns.run(jobOf(query), statsOf(db, this.expiry, this.tables[kind].rows, query)));
  }

  async progress(topic: Topic): Promise<Progress> {
    return { generation: this.number, next: this.reached()[topic] ?? {} };
  }

  /** The progress of every topic that has any. */
  reached(): Readonly<Partial<Record<Topic, Offsets>>> {
    return progressIn(this.open());
  }

  /** Searches see at once what is applied. */
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
    return scanRows(this.readable(), this.tables[kind].rows, range);
  }

  async strays(kind: KindName, ends: Readonly<Partial<Record<Topic, Offsets>>>, range: StrayRange): Promise<StrayPage> {
    return this.reading(async (db) => (await strayRows(db, this.tables[kind].rows, ends, range)) ?? gone());
  }

  async overwrite(write: Write): Promise<void> {
    await this.transaction(() => {
      this.tables[write.kind].overwrite(write);
      this.notePartitions([write]);
    });
    this.commit();
  }

  async remove(kind: KindName, document: StoredDocument): Promise<void> {
    await this.transaction(() => this.tables[kind].remove(document));
    this.commit();
  }

  commit(): void {
    this.open();
    this.commits.commit();
  }

  /** Commits, and checkpoints everything into the file itself, synced. */
  checkpoint(): void {
    this.commit();
    const done = this.open().prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
    if (done?.busy !== 0) throw new Error(`${this.database.location()} could not be checkpointed`);
  }

  /** What cannot be committed is rolled back, and read from the log again after the next start. */
  close(): void {
    if (!this.database.isOpen) return;
    this.commits.tryCommit();
    this.database.close();
  }

  private requireReached(topic: Topic, from: Offsets): void {
    for (const [partition, offset] of Object.entries(from)) {
      if ((this.applied.get(`${topic}/${partition}`) ?? 0) < offset)
        throw new GenerationLost('the generation is behind its earlier progress');
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

  /** Small writes of upkeep. */
  private readonly transaction: Transaction = async (work) => {
    const result = await this.write(work, { writes: 1, bytes: 0 });
    this.commits.commitIfDue();
    return result;
  };

  private async write<Result>(work: () => Result, weight: Weight): Promise<Result> {
    while (this.checkpoints.barrier) await this.checkpoints.barrier;
    this.open();
    return this.commits.write(work, weight);
  }

  private noteRecovery(): void {
    const { lost, told } = this;
    if (lost && [...lost.until].every(([key, next]) => (told.get(key) ?? 0) >= next)) this.lost = undefined;
  }

  private forget(): void {
    this.texts.forget();
    for (const table of Object.values(this.tables)) table.forget();
  }

  /**
   * The generation is what it was at the last commit. Until the projections have applied again what they had applied, reads
   * are refused: they would miss what was acknowledged as searchable.
   */
  private fallBack(reason: unknown): void {
    this.forget();
    this.losses += 1;
    this.lost = { reason, until: laterOf(this.lost?.until ?? new Map(), this.told) };
    this.applied = this.told = this.committed;
    this.noteRecovery();
  }

  private async reading<Result>(read: (db: DatabaseSync) => Promise<Result>): Promise<Result> {
    const { losses } = this;
    const result = await read(this.readable());
    if (losses !== this.losses) throw fallenBack(this.lost?.reason);
    return result;
  }

  private readable(): DatabaseSync {
    if (this.lost) throw fallenBack(this.lost.reason);
    return this.open();
  }

  private open(): DatabaseSync {
    return this.database.isOpen ? this.database : gone();
  }
}

function fallenBack(cause: unknown): ControlError {
  const reason = 'a commit of the read model failed; what it had is being read from the log again';
  return new ControlError('read_model_unavailable', reason, {}, { cause });
}

function gone(): never {
  throw new GenerationLost('the generation no longer exists');
}

function pointsOf(progress: Readonly<Partial<Record<Topic, Offsets>>>): Points {
  const points = Object.entries(progress).flatMap(([topic, offsets]) =>
    Object.entries(offsets).map(([partition, next]) => [`${topic}/${partition}`, next] as const),
  );
  return new Map(points);
}

function laterOf(one: Points, other: Points): Points {
  const later = new Map(one);
  for (const [key, next] of other) later.set(key, Math.max(next, later.get(key) ?? 0));
  return later;
}

function weightOf(writes: readonly Write[]): Weight {
  const bytes = writes.reduce(
    (sum, write) => sum + (write.op === 'delete' || write.recorded ? 0 : write.source.length),
    0,
  );
  return { writes: writes.length, bytes };
}
