import { randomBytes } from 'node:crypto';
import type { Offsets, Topic } from '../../event-log/event-log.js';
import type { Clock } from '../../platform/clock.js';
import { type Elasticsearch, ElasticsearchFault } from '../../platform/elasticsearch.js';
import { partitionIn } from '../document.js';
import { GenerationLost } from '../read-model.js';
import type { Catalog, Step } from './catalog.js';
import { type Nexts, readState, writeState } from './state.js';

interface Seal {
  readonly generation: number;
  readonly alias: string;
  readonly until: number;
}

const MOST_ATTEMPTS = 50;

/**
 * Replaces the live generation by one that has been filled.
 *
 * Progress is written through an alias, by compare-and-swap. The seal replaces that alias by one that holds the time of
 * its lapse, so no new write of progress begins, and then writes the document once, so none under way can succeed. After
 * the lapse any process restores the write alias. That change requires the seal alias, and so does the promotion: a seal
 * either lapses or is promoted, never both.
 */
export class Succession {
  private seal: Seal | undefined;

  constructor(
    private readonly es: Elasticsearch,
    private readonly catalog: Catalog,
    private readonly generation: number,
    private readonly clock: Clock,
  ) {}

  /** Returns how far the live generation got. Sealing again begins a new lease. */
  async sealLive(leaseMs: number): Promise<Readonly<Partial<Record<Topic, Offsets>>>> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const seal = await this.trySeal(leaseMs);
      const value = seal && (await this.lastWord(seal.generation));
      if (!seal || !value) continue;
      this.seal = seal;
      const { identity } = (await this.catalog.liveIdentity()) ?? {};
      // Offsets of another log do not apply to this one.
      return identity?.logId === this.catalog.identity.logId ? offsetsOf(value) : {};
    }
    throw new ElasticsearchFault('the live generation of the read model could not be sealed', 409, 'seal_contended');
  }

  /** Undefined if the live generation or its seal has changed meanwhile. */
  private async trySeal(leaseMs: number): Promise<Seal | undefined> {
    const { names } = this.catalog;
    const live = await this.catalog.require(await this.catalog.requireLive());
    const index = names.progress(live.generation);
    const until = this.clock.now() + leaseMs;
    const alias = names.seal(live.generation, until, randomBytes(8).toString('hex'));
    const before = live.aliases.filter(
      (one) => one === names.writer(index) || names.sealedUntil(live.generation, one) !== undefined,
    );
    // Both were lost. Whoever seals replaces what was there, so that nobody restores the write alias meanwhile.
    if (before.length === 0) {
      await this.catalog.tryChange([{ add: names.lapsedSeal(live.generation), on: index }]);
      return undefined;
    }
    const steps: Step[] = [
      ...this.catalog.requiring(names.building, names.progress(this.generation)),
      ...before.map((drop) => ({ drop, on: index })),
      { add: alias, on: index },
    ];
    if (await this.catalog.tryChange(steps)) return { generation: live.generation, alias, until };
    await this.requireBuilding();
    return undefined;
  }

  /** Writes the progress unchanged, so that no compare-and-swap on an earlier version succeeds. */
  private async lastWord(generation: number): Promise<Nexts | undefined> {
    const { names } = this.catalog;
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const { value, version } = await readState(this.es, names.progress(generation), 'progress');
      if (await writeState(this.es, names.keeper(generation), 'progress', value, version)) return value;
    }
    return undefined;
  }

  /** Makes the generation live, and removes the one before. */
  async promote(): Promise<void> {
    await this.requireBuilding();
    const { seal } = this;
    if (!seal) throw new Error('the live generation is not sealed');
    if (this.clock.now() >= seal.until) throw new Error('the seal of the live generation has lapsed');
    if (!(await this.swapped(seal))) {
      await this.requireBuilding();
      throw new Error('the seal of the live generation has lapsed');
    }
    this.seal = undefined;
    await this.catalog.delete(seal.generation);
  }

  /** Without a response the swap may have taken effect: the live generation shows whether it did. */
  private async swapped(seal: Seal): Promise<boolean> {
    try {
      return await this.catalog.tryChange(this.swap(seal));
    } catch (error) {
      if ((await this.catalog.live())?.generation === this.generation) return true;
      throw error;
    }
  }

  private swap(seal: Seal): Step[] {
    const { catalog, generation } = this;
    const { names } = catalog;
    const old = names.progress(seal.generation);
    return [
      { drop: seal.alias, on: old },
      { drop: names.liveProgress, on: old },
      { drop: names.building, on: names.progress(generation) },
      catalog.goLive(generation),
    ];
  }

  private async requireBuilding(): Promise<void> {
    const entry = await this.catalog.entry(this.generation);
    if (!entry?.isBuilding) throw new GenerationLost(`generation ${this.generation} no longer exists`);
  }
}

function offsetsOf(nexts: Nexts): Partial<Record<Topic, Record<number, number>>> {
  const offsets: Partial<Record<Topic, Record<number, number>>> = {};
  for (const [name, next] of Object.entries(nexts)) {
    const { topic, partition } = partitionIn(name);
    offsets[topic] = { ...offsets[topic], [partition]: next };
  }
  return offsets;
}
