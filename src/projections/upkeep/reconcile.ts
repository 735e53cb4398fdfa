import type { Logger } from 'pino';
import type { EventLog, Offsets, Topic } from '../../event-log/event-log.js';
import type { Clock } from '../../platform/clock.js';
import { identifierOf, type Write } from '../../read-model/document.js';
import { KIND_NAMES, type KindName } from '../../read-model/kinds.js';
import type { ReadModel } from '../../read-model/read-model.js';
import { Expiry, type Retention } from '../../read-model/retention.js';
import type { Projection } from '../projection.js';
import { Comparison } from './comparison.js';
import { FoldedTopic, type Passage, passagesOf, repetitionsAmong } from './expected.js';
import { Differences, type ReconciliationReport } from './findings.js';
import { type Ends, eachAtOnce, indexedEnds, paceOf, patiently, readAhead, type Tell } from './pace.js';
import { type Stretch, scanned, visitStrays } from './scan.js';

export interface ReconcileParts {
  readonly log: EventLog;
  readonly model: ReadModel;
  readonly projections: readonly Projection[];
  readonly retention: Retention;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The part of the log to compare, by default all of it, and whether to repair. */
export interface ReconcileOptions {
  readonly repair?: boolean;
  readonly topic?: Topic;
  readonly partition?: number;
  /** Offset, inclusive. */
  readonly from?: number;
  /** Offset, exclusive. */
  readonly to?: number;
}

/**
 * Compares the read model with the log, and repairs it if asked to, while both are in use. It covers everything indexed when
 * it begins. Expected is what a rebuild would store, so expired documents are neither missing nor extra. A second run after a
 * repair finds nothing.
 */
export async function reconcile(
  parts: ReconcileParts,
  options: ReconcileOptions,
  tell: Tell,
  signal: AbortSignal,
): Promise<ReconciliationReport> {
  return new Reconciliation(parts, options, tell, signal).run();
}

class Reconciliation {
  private readonly expiry: Expiry;
  private readonly differences: Differences;
  private readonly comparison: Comparison;
  private readonly atOnce: number;
  private done = 0;
  private total = 0;

  constructor(
    private readonly parts: ReconcileParts,
    private readonly options: ReconcileOptions,
    private readonly tell: Tell,
    private readonly signal: AbortSignal,
  ) {
    this.expiry = new Expiry(parts.retention);
    this.differences = new Differences(options.repair ?? false, parts.logger);
    // A repair may affect the next passage.
    this.atOnce = this.differences.repairs ? 1 : paceOf(parts.model).atOnce;
    this.comparison = new Comparison(parts.model, this.expiry, this.differences, this.atOnce, signal);
  }

  async run(): Promise<ReconciliationReport> {
    const { model, logger } = this.parts;
    const topics = this.parts.projections.map(({ topic }) => topic);
    const ends = await indexedEnds(model, topics, this.signal);
    await patiently(this.signal, () => model.refresh());
    const stretches = [...this.stretches(ends)];
    this.total = stretches.reduce((sum, { stretch }) => sum + stretch.to - stretch.from, 0);
    for (const { projection, stretch, end } of stretches) {
      await (projection.fromStart ? this.folded(projection, stretch, end) : this.plain(projection, stretch, end));
    }
    await this.strays();
    if (this.differences.repairs) await patiently(this.signal, () => model.refresh());
    const report = this.differences.report(this.comparison.compared);
    logger.info({ ...report, items: undefined }, 'the read model was compared with the log');
    return report;
  }

  private *stretches(ends: Ends): Generator<{ projection: Projection; stretch: Stretch; end: number }> {
    const { topic: only, partition: onlyPartition, from = 0, to = Number.POSITIVE_INFINITY } = this.options;
    for (const projection of this.parts.projections) {
      const { topic } = projection;
      if (only !== undefined && only !== topic) continue;
      for (const [name, end] of Object.entries(ends[topic] ?? {})) {
        const partition = Number(name);
        if (onlyPartition !== undefined && onlyPartition !== partition) continue;
        const stretch = { topic, partition, from: Math.min(from, end), to: Math.min(to, end) };
        yield { projection, stretch, end };
      }
    }
  }

  /** A topic whose records do not depend on earlier ones. */
  private async plain(projection: Projection, stretch: Stretch, end: number): Promise<void> {
    const passages = passagesOf(this.parts.log, projection, stretch, this.signal);
    const read = async (passage: Passage) => {
      return { passage, stored: await this.comparison.stored(passage, projection.kinds) };
    };
    for await (const { passage, stored } of readAhead(passages, this.atOnce - 1, read)) {
      await this.comparison.passage(passage, stored, end);
      this.moved(projection.topic, passage.records);
      if (this.comparison.isFull) await this.tellMissing(projection, stretch);
    }
    const others = KIND_NAMES.filter((kind) => !projection.kinds.includes(kind));
    await eachAtOnce(others, this.atOnce, (kind) => this.unexpected(kind, stretch));
    await this.tellMissing(projection, stretch);
  }

  /** Documents of a kind that the topic does not have. */
  private async unexpected(kind: KindName, stretch: Stretch): Promise<void> {
    for await (const page of scanned(this.parts.model, kind, stretch, this.signal)) {
      for (const document of page) await this.comparison.unexpected(kind, document);
    }
  }

  /** An earlier record with the same Idempotency-Key may be before the range, or have expired since. */
  private async tellMissing(projection: Projection, { from }: Stretch): Promise<void> {
    const keyed = this.comparison.absentWrites.filter((write) => write.op === 'create' && write.hash !== undefined);
    const doubtful = keyed.filter((write) => from > 0 || this.expiry.limit(write.kind, write) !== undefined);
    const options = { ...this.parts, projection, expiry: this.expiry, signal: this.signal };
    const repetitions = await repetitionsAmong(doubtful, options);
    await this.comparison.tellAbsent((write) => repetitions.has(write));
  }

  /** A topic whose records depend on earlier ones, so that it is always read from its beginning. */
  private async folded(projection: Projection, stretch: Stretch, end: number): Promise<void> {
    const topic = await FoldedTopic.read(this.parts.log, projection, end, this.signal);
    for await (const passage of topic.passages(stretch.from, stretch.to)) {
      await this.comparison.passage(passage, await this.comparison.stored(passage, projection.kinds), end);
      this.moved(projection.topic, passage.records);
    }
    await this.catchUp(topic, projection);
  }

  /**
   * Documents that changed during the comparison are not missing. A repair from an older record may have replaced a newer
   * write of the projection: those are written again, until no newer one came in the meantime.
   */
  private async catchUp(topic: FoldedTopic, projection: Projection): Promise<void> {
    const newer = await this.newer(topic, projection);
    await this.comparison.tellAbsent((write) => newer.has(identifierOf(write.kind, write)));
    if (this.comparison.overwritten.size === 0) return;
    for (let again = newer; ; again = new Map()) {
      for (const [key, write] of await this.newer(topic, projection)) again.set(key, write);
      const overtaken = [...again].filter(([key]) => this.comparison.overwritten.has(key));
      if (overtaken.length === 0) return;
      for (const [, write] of overtaken) await this.comparison.overwrite(write);
    }
  }

  /** The last write of each identifier that was indexed since. */
  private async newer(topic: FoldedTopic, projection: Projection): Promise<Map<string, Write>> {
    const newer = new Map<string, Write>();
    const { next } = await patiently(this.signal, () => this.parts.model.progress(projection.topic));
    for await (const write of topic.later(next[0] ?? 0)) newer.set(identifierOf(write.kind, write), write);
    return newer;
  }

  /** Documents without a record. */
  private async strays(): Promise<void> {
    if (this.options.to === undefined) await this.visitStrays();
    await this.comparison.tellExtra();
  }

  private async visitStrays(): Promise<void> {
    const { topic, partition } = this.options;
    const { log, model, projections } = this.parts;
    const heads = async (): Promise<Partial<Record<Topic, Offsets>>> => {
      const found = projections.map(async (one) => [one.topic, await log.head(one.topic)] as const);
      return Object.fromEntries(await Promise.all(found));
    };
    await visitStrays(model, heads, this.signal, async (kind, document) => {
      const { place } = document;
      if ((topic ?? place.topic) !== place.topic || (partition ?? place.partition) !== place.partition) return;
      await this.comparison.unexpected(kind, document);
    });
  }

  private moved(topic: Topic, records: number): void {
    this.done += records;
    this.tell(topic, this.done, this.total);
  }
}
