import type { Batch, EventLog, LogRecord, Topic } from '../../event-log/event-log.js';
import { readRange } from '../../event-log/read-range.js';
import { UnreadableRecord } from '../../event-log/record-schema.js';
import { turnOfTheLoop } from '../../platform/waiting.js';
import type { Write } from '../../read-model/document.js';
import type { Generation } from '../../read-model/read-model.js';
import type { Expiry } from '../expiry.js';
import type { Project, Projection } from '../projection.js';
import { AppliedWindow } from './applied-window.js';
import { type Ends, patiently } from './catch-up.js';

export interface FillOptions {
  /** So many writes are applied at once, or those of one record. */
  readonly slice: number;
  readonly signal: AbortSignal;
  /** Told after every slice. */
  readonly moved: () => void;
}

/** So many records are looked up again at once. */
const WINDOW = 5_000;

interface Source {
  readonly projection: Projection;
  readonly project: Project;
  /** What has been applied, by partition. */
  readonly next: Record<number, number>;
}

/**
 * Fills an empty generation from the log's beginning, as far as it is told to, and makes sure that what was applied is
 * there. Records that cannot be read are passed over: their dead letters tell of them.
 */
export class GenerationFill {
  private readonly sources: readonly Source[];
  private readonly window: AppliedWindow;
  records = 0;
  unreadable = 0;

  constructor(
    private readonly log: EventLog,
    private readonly generation: Generation,
    projections: readonly Projection[],
    expiry: Expiry,
    private readonly options: FillOptions,
  ) {
    this.sources = projections.map((projection) => ({ projection, project: projection.start(), next: {} }));
    this.window = new AppliedWindow(generation, expiry, options.signal);
  }

  /** Everything before this is applied. */
  get reached(): Ends {
    return Object.fromEntries(this.sources.map(({ projection, next }) => [projection.topic, { ...next }]));
  }

  /** Applies everything before these ends, and makes it searchable. Throws when something of it is not there then. */
  async to(ends: Ends): Promise<void> {
    for (const source of this.sources) {
      const { topic } = source.projection;
      for await (const batch of readRange(this.log, topic, source.next, ends[topic] ?? {}, this.options.signal)) {
        await this.take(source, batch);
      }
    }
    await this.window.verify();
  }

  private async take(source: Source, { partition, records, next }: Batch): Promise<void> {
    let writes: Write[] = [];
    let taken = 0;
    for (const [index, record] of records.entries()) {
      writes.push(...this.project(source, record));
      taken += 1;
      const isLast = index === records.length - 1;
      if (!isLast && writes.length < this.options.slice && taken < this.options.slice) continue;
      await this.apply(source, writes, partition, isLast ? next : record.offset + 1);
      this.records += taken;
      this.options.moved();
      writes = [];
      taken = 0;
      await turnOfTheLoop();
    }
  }

  private project({ projection, project }: Source, record: LogRecord): Write[] {
    try {
      return project(record);
    } catch (error) {
      if (!(error instanceof UnreadableRecord) || projection.unreadable === 'stop') throw error;
      this.unreadable += 1;
      return [];
    }
  }

  private async apply(source: Source, writes: readonly Write[], partition: number, next: number): Promise<void> {
    const topic: Topic = source.projection.topic;
    const outcomes = await patiently(this.options.signal, () =>
      this.generation.apply(topic, writes, { [partition]: next }),
    );
    source.next[partition] = next;
    for (const [index, write] of writes.entries()) {
      if (outcomes[index]?.code === 'applied') this.window.add(write);
    }
    if (this.window.size >= WINDOW) await this.window.verify();
  }
}
