import type { Logger } from 'pino';
import { isWaitedFor } from '../event-log/audit-record.js';
import { deadLetter, type Unreadable } from '../event-log/dead-letter.js';
import { type Batch, type EventLog, type LogRecord, type Offsets, UnreadableRecord } from '../event-log/event-log.js';
import type { Metrics } from '../platform/metrics.js';
import { untilDone } from '../platform/retry.js';
import { StoreUnusable } from '../platform/store-unusable.js';
import { inSpan } from '../platform/tracing.js';
import { pause, together } from '../platform/waiting.js';
import type { ProgressFeed, RecordOutcome } from '../progress/progress-feed.js';
import type { Outcome, Write } from '../read-model/document.js';
import { GenerationLost, GenerationSealed, type ReadModel } from '../read-model/read-model.js';
import { type Project, type Projection, skipUnreadable } from './projection.js';
import { Refresher } from './refresher.js';

/** How often the progress is announced again, for processes that joined late. */
const REPEAT_MS = 1_000;

/** How long to wait at a seal before looking up the live generation again. */
const SEALED_MS = 50;

/** A seal lasts seconds; a wait that is longer is logged. */
const LONG_SEALED_MS = 5_000;

export interface ProjectionStatus {
  /** Searches find everything that the partitions of this process had when the projection started. */
  readonly caughtUp: boolean;
  /** Why it does not progress at the moment, while it retries. */
  readonly stalled?: string;
}

/** The progress of a partition: next offsets. */
interface Mark {
  indexed: number;
  searchable: number;
  /** The outcomes of everything before it that this process indexed have been announced. */
  told: number;
  /** Where this process took the partition over. */
  readonly since: number;
}

/**
 * Applies one topic to the read model, for ever: in order within a partition, and at least once, because repeated writes
 * change nothing. Only the stored progress determines where it continues. A failed write is retried until it succeeds;
 * nothing is skipped.
 */
export class ProjectionRunner {
  private readonly marks = new Map<number, Mark>();
  private goal: Offsets = {};
  /** Whether the progress has been read from the read model. */
  private started = false;
  private generation = 0;
  /** Why works do not progress, while they are retried: one partition may, while another does not. */
  private readonly stalls = new Map<object, string>();
  /** When the log took the last record that is in the read model, in milliseconds. */
  lastIndexedTime = 0;
  private toWrites: Project = () => [];
  private readonly refresher: Refresher;

  constructor(
    private readonly log: EventLog,
    private readonly model: ReadModel,
    private readonly feed: ProgressFeed,
    private readonly projection: Projection,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {
    this.refresher = new Refresher(model, () => this.searchableLater(), logger);
  }

  /**
   * Resolves when the signal aborts. Rejects if the log becomes unreadable or the read model unusable: then the process must
   * not continue.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { topic } = this.projection;
    await this.aim(signal);
    while (!signal.aborted) {
      try {
        await together(signal, [(all) => this.consume(all), (all) => this.repeat(all)]);
      } catch (error) {
        if (!(error instanceof GenerationLost)) throw error;
        this.logger.error({ err: error, topic }, 'the read model lost documents; filling it again from the log');
        // Not caught up until everything that may have been acknowledged is indexed again.
        this.started = false;
        this.marks.clear();
        await this.aim(signal);
      }
    }
    this.refresher.stop();
  }

  private async aim(signal: AbortSignal): Promise<void> {
    this.goal = (await this.untilDone(signal, () => this.log.head(this.projection.topic))) ?? {};
  }

  private consume(signal: AbortSignal): Promise<void> {
    const { topic } = this.projection;
    return this.log.consume(
      topic,
      {
        group: `projection-${topic}`,
        assigned: (partitions) => this.assigned(partitions, signal),
        handle: (batch) =>
          inSpan('project', { topic, records: batch.records.length }, () => this.handle(batch, signal)),
      },
      signal,
    );
  }

  get status(): ProjectionStatus {
    const caughtUp =
      this.started && [...this.marks].every(([at, { searchable }]) => searchable >= (this.goal[at] ?? 0));
    const [stalled] = this.stalls.values();
    return { caughtUp, ...(stalled !== undefined && { stalled }) };
  }

  /** The progress of the partitions of this process. */
  get indexed(): Offsets {
    return Object.fromEntries([...this.marks].map(([partition, { indexed }]) => [partition, indexed]));
  }

  private async assigned(partitions: readonly number[], signal: AbortSignal): Promise<Offsets> {
    const progress = await this.untilDone(signal, async () => {
      await this.passDeleted(partitions);
      const found = await this.model.progress(this.projection.topic);
      await this.model.refresh();
      return found;
    });
    if (!progress) return {};
    const { generation, next } = progress;
    this.generation = generation;
    const resumed = await this.projection.resume?.(next[0] ?? 0);
    this.toWrites = resumed?.project ?? this.projection.start();
    this.marks.clear();
    for (const partition of partitions) {
      const at = next[partition] ?? 0;
      this.marks.set(partition, { indexed: at, searchable: at, told: at, since: at });
    }
    await this.untilDone(signal, () => this.announceAll(partitions));
    this.started = true;
    return this.projection.fromStart ? { 0: resumed?.from ?? 0 } : next;
  }

  /** Expired records before the beginning of the log were deleted: nothing will come from there. */
  private async passDeleted(partitions: readonly number[]): Promise<void> {
    const { topic } = this.projection;
    const beginning = await this.log.beginning(topic);
    if (Object.keys(beginning).length === 0) return;
    const { next } = await this.model.progress(topic);
    for (const partition of partitions) {
      const [first = 0, from = 0] = [beginning[partition], next[partition]];
      if (from < first) await this.model.apply(topic, [], { [partition]: first }, { [partition]: from });
    }
  }

  private async handle(batch: Batch, signal: AbortSignal): Promise<void> {
    const mark = this.marks.get(batch.partition);
    // Another process owns the partition by now, and continues from the stored progress.
    if (!mark) return;
    const projected = await this.project(batch, mark.indexed, signal);
    if (!projected) return;
    const { writes, unreadable } = projected;
    if (batch.next <= mark.indexed) return;
    await this.bury(unreadable, signal);
    const outcomes = await this.untilDone(signal, () => this.apply(batch, writes, mark));
    if (!outcomes) return;
    mark.indexed = batch.next;
    this.lastIndexedTime = batch.records.at(-1)?.time ?? this.lastIndexedTime;
    const notable = [...outcomesOf(writes, outcomes), ...unreadable.map(deadOutcome)];
    for (const { code } of notable) this.metrics.projected(this.projection.topic, code);
    await this.tell(batch, mark, notable, signal);
  }

  /**
   * The writes of the records from `done` on. Earlier ones only advance a projection that folds. Waits at a record until an
   * operator has it skipped; undefined if the signal aborts before.
   */
  private async project(
    batch: Batch,
    done: number,
    signal: AbortSignal,
  ): Promise<{ writes: Write[]; unreadable: Unreadable[] } | undefined> {
    const writes: Write[] = [];
    const unreadable: Unreadable[] = [];
    const project = skipUnreadable(this.projection, this.toWrites, (record, { message }) => {
      if (record.offset >= done) unreadable.push({ record, reason: message });
    });
    for (const record of batch.records) {
      const isNew = record.offset >= done;
      const found = await this.unlessStopped(record, () => project(record, isNew), signal);
      if (!found) return undefined;
      if (isNew) writes.push(...found);
    }
    return { writes, unreadable };
  }

  private async unlessStopped(
    record: LogRecord,
    project: () => Write[],
    signal: AbortSignal,
  ): Promise<Write[] | undefined> {
    try {
      return project();
    } catch (error) {
      if (!(error instanceof UnreadableRecord) || !this.projection.skipped) throw error;
      return (await this.projection.skipped(record, error, signal)) ? project() : undefined;
    }
  }

  /** Waits while the generation is sealed: the next one continues from the same offset. */
  private async apply({ partition, next }: Batch, writes: readonly Write[], { indexed }: Mark): Promise<Outcome[]> {
    let noted = performance.now() + LONG_SEALED_MS;
    for (;;) {
      try {
        return await this.model.apply(this.projection.topic, writes, { [partition]: next }, { [partition]: indexed });
      } catch (error) {
        if (!(error instanceof GenerationSealed)) throw error;
        if (performance.now() > noted) {
          this.logger.warn({ err: error, partition }, 'the projection waits for a rebuild to end');
          noted = Number.POSITIVE_INFINITY;
        }
        await pause(SEALED_MS);
        await this.follow();
      }
    }
  }

  /** Continues in the live generation. Throws `GenerationLost` if that lacks records indexed before. */
  private async follow(): Promise<void> {
    const { indexed } = this;
    const { generation, next } = await this.model.progress(this.projection.topic);
    for (const [partition, offset] of Object.entries(indexed)) {
      if ((next[Number(partition)] ?? 0) < offset) {
        throw new GenerationLost(`generation ${generation} of the read model is behind the one before it`);
      }
    }
    this.generation = generation;
  }

  /** Announces the batch as soon as it is searchable. */
  private async tell(batch: Batch, mark: Mark, notable: readonly RecordOutcome[], signal: AbortSignal): Promise<void> {
    const { topic } = this.projection;
    if (this.model.refreshMs.waited === 0) {
      mark.searchable = mark.indexed;
      await this.announce(batch.partition, notable);
      return;
    }
    if (notable.length > 0) {
      await this.untilDone(signal, () => this.announce(batch.partition, notable));
      // Stopped before it was announced, maybe: the next owner says that the outcomes before its start may be unknown.
      if (signal.aborted) return;
    }
    // Not before: a refresh under way would announce it as searchable without its outcomes.
    mark.told = mark.indexed;
    this.refresher.request(topic === 'control' || batch.records.some(isWaitedFor));
  }

  /** Notes what is applied now; the returned function announces it once it is searchable. */
  private searchableLater(): (generation: number) => Promise<void> {
    const before = this.generation;
    const applied = [...this.marks].map(([partition, mark]) => ({ partition, mark, told: mark.told }));
    return async (generation) => {
      // The refresh may have been of another generation than the writes.
      if (generation !== before || generation !== this.generation) return this.refresher.request(false);
      const later = applied.filter(
        ({ partition, mark, told }) => this.marks.get(partition) === mark && mark.searchable < told,
      );
      for (const { mark, told } of later) mark.searchable = told;
      await this.announceAll(later.map(({ partition }) => partition));
    };
  }

  /** Appends dead letters with their bytes, position and reason before the projection passes them. */
  private async bury(unreadable: readonly Unreadable[], signal: AbortSignal): Promise<void> {
    if (unreadable.length === 0) return;
    for (const { record, reason } of unreadable) {
      const { topic, partition, offset } = record;
      this.logger.error({ topic, partition, offset, reason }, 'a record cannot be indexed; moved to the dead letters');
    }
    await this.untilDone(signal, () => this.log.append(unreadable.map(deadLetter)));
  }

  private async announce(partition: number, outcomes: readonly RecordOutcome[] = []): Promise<void> {
    const mark = this.marks.get(partition);
    if (!mark) return;
    const { topic } = this.projection;
    const { indexed, searchable, since } = mark;
    await this.feed.publish({ topic, generation: this.generation, partition, indexed, searchable, since, outcomes });
  }

  /** At once, so that one request to the log has all of them. */
  private async announceAll(partitions: readonly number[]): Promise<void> {
    await Promise.all(partitions.map((partition) => this.announce(partition)));
  }

  /** Announces the progress periodically, and notices another generation while nothing is written. */
  private async repeat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(REPEAT_MS, signal, { ref: false });
      if (signal.aborted || this.marks.size === 0) continue;
      try {
        await this.follow();
        await this.announceAll([...this.marks.keys()]);
        this.stalls.delete(this);
      } catch (error) {
        if (error instanceof GenerationLost) throw error;
        this.stalls.set(this, (error as Error).message);
        this.logger.warn({ err: error, topic: this.projection.topic }, 'the progress could not be announced; retrying');
      }
    }
  }

  private async untilDone<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result | undefined> {
    const { topic } = this.projection;
    const done = untilDone(signal, work, (error, wait) => {
      // No retry can help: the process ends with the reason.
      if (error instanceof GenerationLost || error instanceof StoreUnusable) throw error;
      this.stalls.set(work, (error as Error).message);
      this.metrics.retried(topic);
      this.logger.error({ err: error, topic, wait }, 'the projection does not progress; retrying');
    });
    return done.finally(() => this.stalls.delete(work));
  }
}

function outcomesOf(writes: readonly Write[], outcomes: readonly Outcome[]): RecordOutcome[] {
  return outcomes.flatMap(({ code, id }, index) => {
    const offset = writes[index]?.place.offset;
    return offset !== undefined && (code === 'duplicate' || code === 'conflict') ? [{ offset, code, id }] : [];
  });
}

function deadOutcome({ record }: Unreadable): RecordOutcome {
  return { offset: record.offset, code: 'dead_lettered', id: record.key };
}
