import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Batch, EventLog, LogEntry, LogRecord, Offsets } from '../event-log/event-log.js';
import { UnreadableRecord } from '../event-log/record-schema.js';
import type { Metrics } from '../metrics.js';
import type { ProgressFeed, RecordOutcome } from '../progress/progress-feed.js';
import type { Outcome, ReadModel, Write } from '../read-model/read-model.js';
import { inSpan } from '../tracing.js';
import type { Project, Projection } from './projection.js';

const RETRY_MS = { first: 100, most: 5_000 };

export interface ProjectionStatus {
  /** Everything that was in the log when the projection started is in the read model. */
  readonly caughtUp: boolean;
  /** Why it does not get on at the moment: the read model refuses, and the write is tried again. */
  readonly stalled?: string;
}

/**
 * Carries one topic into the read model, for ever: in order within a partition, at least once, where the read model
 * makes a repetition change nothing. Its stored progress, nothing else, says where to go on. A write that fails is
 * tried again until it works; nothing is skipped.
 */
export class ProjectionRunner {
  private readonly next = new Map<number, number>();
  private goal: Offsets = {};
  private generation = 0;
  private stalled: string | undefined;
  /** When the log took the last record that is in the read model, in milliseconds. */
  lastIndexedTime = 0;
  private toWrites: Project = () => [];

  constructor(
    private readonly log: EventLog,
    private readonly model: ReadModel,
    private readonly feed: ProgressFeed,
    private readonly projection: Projection,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
  ) {}

  /** Resolves when the signal aborts; rejects when the log cannot be read on: then the process must not go on. */
  async run(signal: AbortSignal): Promise<void> {
    const { topic } = this.projection;
    this.goal = await this.log.head(topic);
    await this.log.consume(
      topic,
      {
        group: `projection-${topic}`,
        assigned: (partitions) => this.assigned(partitions),
        handle: (batch) =>
          inSpan('project', { topic, records: batch.records.length }, () => this.handle(batch, signal)),
      },
      signal,
    );
  }

  get status(): ProjectionStatus {
    const started = this.generation > 0;
    const caughtUp = started && Object.entries(this.goal).every(([at, end]) => (this.next.get(Number(at)) ?? 0) >= end);
    return { caughtUp, ...(this.stalled !== undefined && { stalled: this.stalled }) };
  }

  /** What is in the read model, of the partitions that this process carries. */
  get indexed(): Offsets {
    return Object.fromEntries(this.next);
  }

  private async assigned(partitions: readonly number[]): Promise<Offsets> {
    const { generation, next } = await this.model.progress(this.projection.topic);
    this.generation = generation;
    this.toWrites = this.projection.start();
    await this.model.refresh();
    for (const partition of partitions) {
      const indexed = next[partition] ?? 0;
      this.next.set(partition, indexed);
      await this.announce(partition, []);
    }
    return this.projection.fromStart ? {} : next;
  }

  private async handle(batch: Batch, signal: AbortSignal): Promise<void> {
    const done = this.next.get(batch.partition) ?? 0;
    const writes: Write[] = [];
    const dead: { record: LogRecord; reason: string }[] = [];
    for (const record of batch.records) {
      const found = this.project(record, dead);
      if (record.offset >= done) writes.push(...found);
    }
    const fresh = dead.filter(({ record }) => record.offset >= done);
    if (batch.next <= done) return;
    if (fresh.length > 0) await this.bury(fresh, signal);
    const outcomes = await this.untilDone(signal, () => this.apply(batch, writes));
    if (!outcomes) return;
    this.next.set(batch.partition, batch.next);
    this.lastIndexedTime = batch.records.at(-1)?.time ?? this.lastIndexedTime;
    const notable = [...outcomesOf(writes, outcomes), ...fresh.map(deadOutcome)];
    for (const { code } of notable) this.metrics.projected(this.projection.topic, code);
    await this.announce(batch.partition, notable);
  }

  private project(record: LogRecord, dead: { record: LogRecord; reason: string }[]): Write[] {
    try {
      return this.toWrites(record);
    } catch (error) {
      if (!(error instanceof UnreadableRecord) || this.projection.unreadable === 'stop') throw error;
      dead.push({ record, reason: error.message });
      return [];
    }
  }

  private async apply(batch: Batch, writes: readonly Write[]): Promise<Outcome[]> {
    const outcomes = await this.model.apply(this.projection.topic, writes, { [batch.partition]: batch.next });
    await this.model.refresh();
    return outcomes;
  }

  /** Dead letters are kept with their bytes, place and reason before the projection passes them. */
  private async bury(dead: readonly { record: LogRecord; reason: string }[], signal: AbortSignal): Promise<void> {
    const letters = dead.map(({ record, reason }): LogEntry => {
      const { topic, partition, offset, time, key, headers, value } = record;
      this.logger.error({ topic, partition, offset, reason }, 'record cannot be indexed; moved to the dead letters');
      const place = { topic, partition: String(partition), offset: String(offset), time: String(time) };
      return {
        topic: 'audit.dead',
        // A rebuild meets the record again; its place tells that it is the same letter.
        key: `${topic}/${partition}/${offset}`,
        value,
        headers: { v: '1', reason, ...place, key, headers: JSON.stringify(headers) },
      };
    });
    await this.untilDone(signal, () => this.log.append(letters));
  }

  private async announce(partition: number, outcomes: readonly RecordOutcome[]): Promise<void> {
    const at = this.next.get(partition) ?? 0;
    const { topic } = this.projection;
    await this.feed.publish({ topic, generation: this.generation, partition, indexed: at, searchable: at, outcomes });
  }

  /** Repeats the work, ever more slowly, until it succeeds; undefined when the signal aborts before. */
  private async untilDone<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result | undefined> {
    for (let wait = RETRY_MS.first; !signal.aborted; wait = Math.min(wait * 2, RETRY_MS.most)) {
      try {
        const result = await work();
        this.stalled = undefined;
        return result;
      } catch (error) {
        this.stalled = (error as Error).message;
        this.metrics.retried(this.projection.topic);
        this.logger.error(
          { err: error, topic: this.projection.topic, wait },
          'the projection does not get on; trying again',
        );
        await delay(wait, undefined, { signal }).catch(() => undefined);
      }
    }
    return undefined;
  }
}

function outcomesOf(writes: readonly Write[], outcomes: readonly Outcome[]): RecordOutcome[] {
  return outcomes.flatMap(({ code, id }, index) => {
    const offset = writes[index]?.place.offset;
    return offset !== undefined && (code === 'duplicate' || code === 'conflict') ? [{ offset, code, id }] : [];
  });
}

function deadOutcome({ record }: { record: LogRecord }): RecordOutcome {
  return { offset: record.offset, code: 'dead_lettered', id: record.key };
}
