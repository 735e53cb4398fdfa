import type { Offsets, Topic } from '../../event-log/event-log.js';
import { coalesced } from '../../platform/coalesced.js';
import type { Position, Write } from '../document.js';
import { KIND_NAMES } from '../kinds.js';
import { GenerationLost } from '../read-model.js';
import type { Version } from './bulk.js';
import type { Catalog } from './catalog.js';
import { type Elasticsearch, ElasticsearchFault, isMissing } from './client.js';
import { partitionName } from './document.js';
import { Filling } from './filling.js';
import type { ProgressKeeper } from './progress.js';
import { type Bound, type Bounds, isBefore, laterBounds, type Nexts, nextsOf, readState, writeState } from './state.js';

/** More names than these make an address too long. */
const MOST_NAMES = 20;

const MOST_ATTEMPTS = 50;

/** How far everything of these writes, and of this progress, is applied. */
export function appliedBounds(topic: Topic, writes: readonly Pick<Write, 'place'>[], progress: Offsets): Bounds {
  const last = new Map<Topic, Map<number, Position>>();
  for (const { place } of writes) {
    const ofTopic = last.get(place.topic) ?? new Map<number, Position>();
    last.set(place.topic, ofTopic);
    const known = ofTopic.get(place.partition);
    if (!known || isBefore(boundAt(known), boundAt(place))) ofTopic.set(place.partition, place);
  }
  const places = [...last.values()].flatMap((ofTopic) => [...ofTopic.values()]);
  const written = places.map((place) => [partitionName(place), boundAt(place)]);
  return laterBounds(boundsOf(nextsOf(topic, progress)), Object.fromEntries(written));
}

function boundAt({ offset, ordinal }: Position): Bound {
  return [offset, ordinal + 1];
}

/**
 * What of a generation is searchable. Indices become searchable one after the other, each when somebody refreshes it, so
 * a search alone may show a record before one that the log has before it. Therefore every refresh publishes, after all
 * that was applied before it has become searchable in every copy of every index, how far that is, and who lists in the
 * order of the log looks no farther.
 */
export class Searchable {
  private applied: Bounds = {};
  private touched = new Set<string>();
  /** Whether others may have applied what is not searchable yet. */
  private everything = true;
  private known: { readonly value: Bounds; readonly version: Version } | undefined;
  readonly refresh = coalesced(() => this.refreshOnce());
  private readonly filling: Filling;

  constructor(
    private readonly es: Elasticsearch,
    private readonly catalog: Catalog,
    private readonly progress: ProgressKeeper,
    private readonly generation: number,
  ) {
    this.filling = new Filling(es, catalog, generation);
  }

  /** The next refresh that begins makes searchable what has changed in the index. */
  add(index: string): void {
    this.touched.add(index);
  }

  /** Everything before these bounds is applied, and its indices are added. */
  raise(bounds: Bounds): void {
    this.applied = laterBounds(this.applied, bounds);
  }

  /** The same for what others have applied, where that is ahead of what this process knows to be searchable. */
  addOthers(nexts: Nexts): void {
    const known = laterBounds(this.applied, this.known?.value ?? {});
    const isAhead = ([partition, bound]: readonly [string, Bounds[string]]) =>
      isBefore(known[partition] ?? [0, 0], bound);
    if (Object.entries(boundsOf(nexts)).some(isAhead)) this.everything = true;
  }

  private async refreshOnce(): Promise<void> {
    const { applied, touched, everything } = this;
    this.touched = new Set();
    this.everything = false;
    try {
      const bounds = everything ? laterBounds(applied, boundsOf(await this.progress.read())) : applied;
      const many = everything || touched.size > MOST_NAMES;
      await this.refreshIndices(
        many ? KIND_NAMES.map((kind) => this.catalog.names.documents(this.generation, kind)) : [...touched],
      );
      await this.publish(bounds);
    } catch (error) {
      for (const index of touched) this.touched.add(index);
      this.everything ||= everything;
      throw error;
    }
  }

  private async refreshIndices(indices: readonly string[]): Promise<void> {
    if (indices.length === 0) return;
    type Answer = { readonly _shards: { readonly total: number; readonly failed: number } };
    const query = { ignore_unavailable: true, allow_no_indices: true };
    const { _shards } = await this.es.request<Answer>('POST', `/${indices.join(',')}/_refresh`, { query });
    if (_shards.failed > 0) {
      throw new ElasticsearchFault(
        `${_shards.failed} shards of the read model were not refreshed`,
        503,
        'refresh_failed',
      );
    }
    if (_shards.total === 0) await this.catalog.require(this.generation);
  }

  private async publish(bounds: Bounds): Promise<void> {
    try {
      await this.filling.reached(await this.written(bounds));
    } catch (error) {
      if (!isMissing(error)) throw error;
      throw new GenerationLost(`generation ${this.generation} of the read model is not there any more`);
    }
  }

  /** What is stored once these bounds are. */
  private async written(bounds: Bounds): Promise<Bounds> {
    const { names } = this.catalog;
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      this.known ??= await readState(this.es, names.progress(this.generation), 'searchable');
      const { value: known, version: over } = this.known;
      const value = laterBounds(known, bounds);
      if (Object.entries(value).every(([partition, bound]) => known[partition] === bound)) return known;
      const version = await writeState(this.es, names.keeper(this.generation), 'searchable', value, over);
      this.known = version && { value, version };
      if (version) return value;
    }
    throw new ElasticsearchFault(
      'others kept writing what is searchable of the read model',
      409,
      'searchable_contended',
    );
  }
}

function boundsOf(nexts: Nexts): Bounds {
  return Object.fromEntries(Object.entries(nexts).map(([partition, next]) => [partition, [next, 0]]));
}
