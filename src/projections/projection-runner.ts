import type { Logger } from 'pino';
import { deadLetter, type Unreadable } from '../event-log/dead-letter.js';
import { type Batch, type EventLog, type Offsets } from '../event-log/event-log.js';
import { UnreadableRecord } from '../event-log/record-schema.js';
import { isWaitedFor } from '../event-log/waited-for.js';
import type { Metrics } from '../platform/metrics.js';
import { untilDone } from '../platform/retry.js';
import { StoreUnusable } from '../platform/store-unusable.js';
import { together } from '../platform/together.js';
import { inSpan } from '../platform/tracing.js';
import { pause } from '../platform/waiting.js';
import type { ProgressFeed, RecordOutcome } from '../progress/progress-feed.js';
import type { Outcome, Write } from '../read-model/document.js';
import { GenerationLost, GenerationSealed, type ReadModel } from '../read-model/read-model.js';
import type { Project, Projection } from './projection.js';
import { Refresher } from './upkeep/refresher.js';

/** How often all that is known is announced again, for those who joined late. */
const REPEAT_MS = 1_000;

/** How long a sealed generation is left alone before it is asked again who is live. */
const SEALED_MS = 50;

export interface ProjectionStatus {
  /** Searches find everything that was in the log when the projection started, as far as this process carries it. */
  readonly caughtUp: boolean;
  /** Why it does not get on at the moment: the read model refuses, and the write is tried again. */
  readonly stalled?: string;
}

/** How far a partition is. */
interface Mark {
  indexed: number;
  searchable: number;
  /** Of everything before it that this process has indexed the outcomes are announced. */
  told: number;
  /** Where this process took over. */
  readonly since: number;
}

/**
 * Carries one topic into the read model, for ever: in order within a partition, at least once, where the read model
 * makes a repetition change nothing. Its stored progress, nothing else, says where to go on. A write that fails is
 * tried again until it works; nothing is skipped.
 */
export class ProjectionRunner {
  private readonly marks = new Map<number, Mark>();
  private goal: Offsets = {};
  /** Whether the read model has told where to go on. */
  private started = false;
  private generation = 0;
  private stalled: string | undefined;
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
   * Resolves when the signal aborts; rejects when the log cannot be read on, or no waiting makes the read model usable:
   * then the process must not go on.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { topic } = this.projection;
    await this.aim(signal);
    while (!signal.aborted) {
      try {
        await together(signal, [(all) => this.consume(all), (all) => this.repeat(all)]);
      } catch (error) {
        if (!(error instanceof GenerationLost)) throw error;
        this.logger.error({ err: error, topic }, 'the read model lost what it had; it is filled again from the log');
        // Not caught up until everything that may have been acknowledged before is there again.
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
    return { caughtUp, ...(this.stalled !== undefined && { stalled: this.stalled }) };
  }

  /** What is in the read model, of the partitions that this process carries. */
  get indexed(): Offsets {
    return Object.fromEntries([...this.marks].map(([partition, { indexed }]) => [partition, indexed]));
  }

  private async assigned(partitions: readonly number[], signal: AbortSignal): Promise<Offsets> {
    const progress = await this.untilDone(signal, async () => {
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
      await this.untilDone(signal, () => this.announce(partition));
    }
    this.started = true;
    return this.projection.fromStart ? { 0: resumed?.from ?? 0 } : next;
  }

  private async handle(batch: Batch, signal: AbortSignal): Promise<void> {
    const mark = this.marks.get(batch.partition);
    // Another process has the partition by now, and goes on from the stored progress.
    if (!mark) return;
    const { writes, unreadable } = this.project(batch, mark.indexed);
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

  /** What the records from `done` on mean. The others are shown to a projection that folds, and not written again. */
  private project(batch: Batch, done: number): { writes: Write[]; unreadable: Unreadable[] } {
    const writes: Write[] = [];
    const unreadable: Unreadable[] = [];
    for (const record of batch.records) {
      const isNew = record.offset >= done;
      try {
        const found = this.toWrites(record, isNew);
        if (isNew) writes.push(...found);
      } catch (error) {
        if (!(error instanceof UnreadableRecord) || this.projection.unreadable === 'stop') throw error;
        if (isNew) unreadable.push({ record, reason: error.message });
      }
    }
    return { writes, unreadable };
  }

  /** A generation that is sealed is waited for: the one that follows it goes on from the same place. */
  private async apply({ partition, next }: Batch, writes: readonly Write[], { indexed }: Mark): Promise<Outcome[]> {
    for (;;) {
      try {
        return await this.model.apply(this.projection.topic, writes, { [partition]: next }, { [partition]: indexed });
      } catch (error) {
        if (!(error instanceof GenerationSealed)) throw error;
        await pause(SEALED_MS);
        await this.follow();
      }
    }
  }

  /** Goes on in the generation that is live now. Throws `GenerationLost` where that has not what was indexed before. */
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

  /** Announces at once where what is applied is searchable, or else as soon as it is. */
  private async tell(batch: Batch, mark: Mark, notable: readonly RecordOutcome[], signal: AbortSignal): Promise<void> {
    const { topic } = this.projection;
    if (this.model.refreshMs.waited === 0) {
      mark.searchable = mark.indexed;
      await this.announce(batch.partition, notable);
      return;
    }
    if (notable.length > 0) await this.untilDone(signal, () => this.announce(batch.partition, notable));
    // Not before: the refresh that runs meanwhile would announce it as searchable, and nothing else.
    mark.told = mark.indexed;
    this.refresher.request(topic === 'control' || batch.records.some(isWaitedFor));
  }

  /** Notes what is applied now; the answer announces it, once it is searchable. */
  private searchableLater(): (generation: number) => Promise<void> {
    const before = this.generation;
    const applied = [...this.marks].map(([partition, mark]) => ({ partition, mark, told: mark.told }));
    return async (generation) => {
      // What this refresh made searchable may be in another generation than what was applied.
      if (generation !== before || generation !== this.generation) return this.refresher.request(false);
      for (const { partition, mark, told } of applied) {
        if (this.marks.get(partition) !== mark || mark.searchable >= told) continue;
        mark.searchable = told;
        await this.announce(partition);
      }
    };
  }

  /** Dead letters are kept with their bytes, place and reason before the projection passes them. */
  private async bury(unreadable: readonly Unreadable[], signal: AbortSignal): Promise<void> {
    if (unreadable.length === 0) return;
    for (const { record, reason } of unreadable) {
      const { topic, partition, offset } = record;
      this.logger.error({ topic, partition, offset, reason }, 'record cannot be indexed; moved to the dead letters');
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

  /** Announces everything again and again, and finds out about another generation though nothing is written. */
  private async repeat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(REPEAT_MS, signal, { ref: false });
      if (signal.aborted || this.marks.size === 0) continue;
      try {
        await this.follow();
        for (const partition of [...this.marks.keys()]) await this.announce(partition);
      } catch (error) {
        if (error instanceof GenerationLost) throw error;
        this.logger.warn({ err: error, topic: this.projection.topic }, 'the progress could not be announced again');
      }
    }
  }

  private async untilDone<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result | undefined> {
    const { topic } = this.projection;
    const result = await untilDone(signal, work, (error, wait) => {
      // What no waiting mends ends the process, with its reason.
      if (error instanceof GenerationLost || error instanceof StoreUnusable) throw error;
      this.stalled = (error as Error).message;
      this.metrics.retried(topic);
      this.logger.error({ err: error, topic, wait }, 'the projection does not get on; trying again');
    });
    this.stalled = undefined;
    return result;
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
