import type { Offsets, Topic } from '../../event-log/event-log.js';
import type { Clock } from '../../platform/clock.js';
import { type Elasticsearch, ElasticsearchFault, isMissing } from '../../platform/elasticsearch.js';
import { coalesced, pause } from '../../platform/waiting.js';
import { GenerationLost, GenerationSealed } from '../read-model.js';
import type { Version } from './bulk.js';
import type { Catalog } from './catalog.js';
import { type Nexts, nextsOf, readState, writeState } from './state.js';

const MOST_ATTEMPTS = 50;

/** No seal lasts longer. */
const MOST_LEASE_MS = 120_000;

/**
 * A process that writes again at once starves the others, who must read its write first. For `CONTENDED_MS` after a
 * conflict every process waits up to `YIELD_MS` before it writes.
 */
const CONTENDED_MS = 1_000;
const YIELD_MS = 10;

/**
 * How far the log is applied to one generation: one document for all partitions, written by compare-and-swap. So progress
 * never goes backward and never skips, every writer notices a generation that was set back or created again, and a seal
 * that writes the document once defeats every write under way.
 */
export class ProgressKeeper {
  private known: Stored | undefined;
  private queue: Advance[] = [];
  private contendedUntil = 0;
  private readonly write = coalesced(() => this.writeQueued());

  constructor(
    private readonly es: Elasticsearch,
    private readonly catalog: Catalog,
    private readonly generation: number,
    private readonly clock: Clock,
  ) {}

  /** What is stored. Throws `GenerationLost` if that is less than this process has seen. */
  async read(): Promise<Nexts> {
    const expected = this.known;
    const found = await this.stored();
    for (const [partition, next] of Object.entries(expected?.value ?? {})) {
      if ((found.value[partition] ?? -1) < next) {
        throw new GenerationLost(`generation ${this.generation} of the read model was set back`);
      }
    }
    // A write that ended meanwhile is newer.
    if (this.known === expected) this.known = found;
    return found.value;
  }

  /**
   * Resolves when at least `next` is stored, with the earlier progress of these partitions. Throws `GenerationLost` if the
   * generation is gone, was set back, or is behind `from`, and `GenerationSealed` while it is sealed.
   */
  async advance(topic: Topic, next: Offsets, from: Offsets = {}): Promise<Nexts> {
    const one = { next: nextsOf(topic, next), from: nextsOf(topic, from) };
    this.queue.push(one);
    const before = await this.write();
    if (!isReached(one.from, before)) {
      throw new GenerationLost(`generation ${this.generation} of the read model is behind its earlier progress`);
    }
    return Object.fromEntries(Object.keys(one.next).map((partition) => [partition, before[partition] ?? 0]));
  }

  /** Throws what `advance` throws, and writes nothing. */
  async requireOpen(): Promise<void> {
    const { names } = this.catalog;
    const alias = names.writer(names.progress(this.generation));
    try {
      await this.es.request('GET', `/_alias/${alias}`);
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.explain();
    }
  }

  private async writeQueued(): Promise<Nexts> {
    if (performance.now() < this.contendedUntil) await pause(Math.random() * YIELD_MS);
    const queued = this.queue.splice(0);
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      if (attempt > 0) this.contendedUntil = performance.now() + CONTENDED_MS;
      const { value, version } = await this.thatReaches(queued);
      const wanted = queued.filter(({ from }) => isReached(from, value)).reduce(later, value);
      if (wanted === value) await this.requireOpen();
      if (wanted === value || (await this.replace(wanted, version))) return value;
    }
    throw new ElasticsearchFault(
      'other processes kept writing the progress of the read model',
      409,
      'progress_contended',
    );
  }

  /** What is known to be stored, read again if a caller expects more: other processes may have written since. */
  private async thatReaches(queued: readonly Advance[]): Promise<Stored> {
    const { known } = this;
    return known && queued.every(({ from }) => isReached(from, known.value)) ? known : this.stored();
  }

  /** Whether it was written; if not, `known` is what is stored now. */
  private async replace(value: Nexts, over: Version): Promise<boolean> {
    const { names } = this.catalog;
    try {
      const alias = names.writer(names.progress(this.generation));
      const version = await writeState(this.es, alias, 'progress', value, over);
      if (version) this.known = { value, version };
      else await this.read();
      return version !== undefined;
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.explain();
      return false;
    }
  }

  private async stored(): Promise<Stored> {
    const { names } = this.catalog;
    try {
      return await readState(this.es, names.progress(this.generation), 'progress');
    } catch (error) {
      if (!isMissing(error)) throw error;
      throw new GenerationLost(`generation ${this.generation} of the read model no longer exists`);
    }
  }

  /** The write alias is missing: throws the reason, or restores the alias if the seal has lapsed. */
  private async explain(): Promise<void> {
    const { names } = this.catalog;
    const index = names.progress(this.generation);
    const { aliases, isLive } = await this.catalog.require(this.generation);
    if (aliases.includes(names.writer(index))) return;
    const seals = aliases.filter((alias) => names.sealedUntil(this.generation, alias) !== undefined);
    if (!isLive) throw new GenerationLost(`generation ${this.generation} is no longer live`);
    if (seals.length === 0) {
      await this.catalog.tryChange([{ add: names.lapsedSeal(this.generation), on: index }]);
      return;
    }
    const now = this.clock.now();
    const left = seals.map((seal) => (names.sealedUntil(this.generation, seal) ?? 0) - now);
    // One that would last longer than any was made when the log's clock was wrong.
    if (left.some((ms) => ms > 0 && ms <= MOST_LEASE_MS)) {
      throw new GenerationSealed(`generation ${this.generation} of the read model is about to be replaced`);
    }
    const lapse = [...seals.map((drop) => ({ drop, on: index })), { add: names.writer(index), on: index }];
    // No effect if another process was first: the next attempt shows what it did.
    await this.catalog.tryChange(lapse);
  }
}

interface Stored {
  readonly value: Nexts;
  readonly version: Version;
}

interface Advance {
  readonly next: Nexts;
  /** The least progress of these partitions. */
  readonly from: Nexts;
}

function isReached(from: Nexts, stored: Nexts): boolean {
  return Object.entries(from).every(([partition, offset]) => (stored[partition] ?? 0) >= offset);
}

/** Returns `one` itself if `next` has nothing later. */
function later(one: Nexts, { next }: Advance): Nexts {
  const ahead = Object.entries(next).filter(([partition, next]) => (one[partition] ?? -1) < next);
  return ahead.length === 0 ? one : { ...one, ...Object.fromEntries(ahead) };
}
