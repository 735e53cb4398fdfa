import type { Batch, EventLog, Topic } from '../../event-log/event-log.js';
import { readRange } from '../../event-log/read-range.js';
import { turnOfTheLoop } from '../../platform/waiting.js';
import { identifierOf, type Position, type Write } from '../../read-model/document.js';
import type { KindName } from '../../read-model/kinds.js';
import type { Generation } from '../../read-model/read-model.js';
import type { Expirable, Expiry } from '../../read-model/retention.js';
import { type Project, type Projection, skipUnreadable } from '../projection.js';
import { type Ends, patiently } from './pace.js';
import { scanned } from './scan.js';

export interface FillOptions {
  /** How many writes are applied at once; those of one record are never split. */
  readonly slice: number;
  readonly signal: AbortSignal;
  /** Called after each slice. */
  readonly moved: () => void;
}

/** How many applied writes are verified at once. */
const WINDOW = 5_000;

interface Source {
  readonly projection: Projection;
  readonly project: Project;
  /** The next offset to apply, by partition. */
  readonly next: Record<number, number>;
}

/**
 * Fills an empty generation from the log's beginning up to the ends it is given, and verifies that everything it applied is
 * stored. Skips unreadable records: they have dead letters.
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
    this.sources = projections.map((projection) => {
      const skipped = () => {
        this.unreadable += 1;
      };
      return { projection, project: skipUnreadable(projection, projection.start(), skipped), next: {} };
    });
    this.window = new AppliedWindow(generation, expiry, options.signal);
  }

  /** Everything before this is applied. */
  get reached(): Ends {
    return Object.fromEntries(this.sources.map(({ projection, next }) => [projection.topic, { ...next }]));
  }

  /** Applies everything before these ends, and makes it searchable. Throws if a document is not stored then. */
  async to(ends: Ends): Promise<void> {
    for (const source of this.sources) {
      const { topic } = source.projection;
      for await (const batch of readRange(this.log, topic, source.next, ends[topic] ?? {}, this.options.signal)) {
        await this.take(source, batch);
      }
      // Records at the end of the range may have been deleted.
      for (const [partition, end] of Object.entries(ends[topic] ?? {})) {
        if ((source.next[Number(partition)] ?? 0) < end) await this.apply(source, [], Number(partition), end);
      }
    }
    await this.window.verify();
  }

  private async take(source: Source, { partition, records, next }: Batch): Promise<void> {
    let writes: Write[] = [];
    let taken = 0;
    for (const [index, record] of records.entries()) {
      writes.push(...source.project(record));
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

/** An applied write, without its content. */
interface Applied extends Expirable {
  readonly kind: KindName;
  readonly org: string;
  readonly id: string;
}

/**
 * Writes that were applied and are still to be verified by a scan: the response to the write is not trusted. Nothing else
 * may write to the generation meanwhile.
 */
class AppliedWindow {
  /** By identifier, with its last write. */
  private readonly applied = new Map<string, Applied>();

  constructor(
    private readonly generation: Generation,
    private readonly expiry: Expiry,
    private readonly signal: AbortSignal,
  ) {}

  get size(): number {
    return this.applied.size;
  }

  add(write: Write): void {
    const { kind, org, id, place } = write;
    this.applied.set(identifierOf(kind, write), {
      ...{ kind, org, id, place },
      ...(write.op !== 'delete' && { fields: write.fields }),
    });
  }

  /** Verifies all of them, and forgets them. Throws if one that has not expired is not stored. */
  async verify(): Promise<void> {
    if (this.applied.size === 0) return;
    await patiently(this.signal, () => this.generation.refresh());
    for (const [kind, range] of rangesOf([...this.applied.values()])) {
      for await (const page of scanned(this.generation, kind, range, this.signal)) {
        for (const document of page) {
          const key = identifierOf(kind, document);
          if (this.applied.get(key)?.place.offset === document.place.offset) this.applied.delete(key);
        }
        await turnOfTheLoop();
      }
    }
    const lost = [...this.applied.values()].find((one) => !this.expiry.has(one.kind, one));
    this.applied.clear();
    if (!lost) return;
    const { topic, partition, offset } = lost.place;
    throw new Error(`the new generation lacks the ${lost.kind} ${lost.id} of ${topic}/${partition}/${offset}`);
  }
}

type Range = Pick<Position, 'topic' | 'partition'> & { readonly from: number; readonly to: number };

/** The ranges of the log that the writes are from, by kind and partition. */
function rangesOf(applied: readonly Applied[]): (readonly [KindName, Range])[] {
  const ranges = new Map<string, readonly [KindName, Range]>();
  for (const { kind, place } of applied) {
    const { topic, partition, offset } = place;
    const key = `${kind} ${topic}/${partition}`;
    const { from = offset, to = offset + 1 } = ranges.get(key)?.[1] ?? {};
    ranges.set(key, [kind, { topic, partition, from: Math.min(from, offset), to: Math.max(to, offset + 1) }]);
  }
  return [...ranges.values()];
}
