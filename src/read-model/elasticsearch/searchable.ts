import type { Offsets, Topic } from '../../event-log/event-log.js';
import { type Elasticsearch, ElasticsearchFault, isMissing } from '../../platform/elasticsearch.js';
import { coalesced } from '../../platform/waiting.js';
import { comparePositions, isBefore, type Point, type Position, partitionName, type Write } from '../document.js';
import { KIND_NAMES } from '../kinds.js';
import { GenerationLost } from '../read-model.js';
import { laterPoints, type Points } from '../search.js';
import type { Version } from './bulk.js';
import type { Catalog } from './catalog.js';
import type { ProgressKeeper } from './progress.js';
import { changeState, type Manifest, type Nexts, nextsOf, readState, writeState } from './state.js';

/** More names make the URL too long. */
const MOST_NAMES = 20;

const MOST_ATTEMPTS = 50;

/** Everything of these writes, and of this progress, is applied before these points. */
export function appliedPoints(topic: Topic, writes: readonly Pick<Write, 'place'>[], progress: Offsets): Points {
  const last = new Map<string, Position>();
  for (const { place } of writes) {
    const name = partitionName(place);
    const known = last.get(name);
    if (!known || comparePositions(known, place) < 0) last.set(name, place);
  }
  const written = Array.from(last, ([name, { offset, ordinal }]): [string, Point] => [name, [offset, ordinal + 1]]);
  return laterPoints(pointsOf(nextsOf(topic, progress)), Object.fromEntries(written));
}

/**
 * How much of a generation is searchable. Indices become searchable one after the other, so a search alone may show a
 * record before an earlier one. Therefore each refresh, once it has made everything applied before it searchable in all
 * indices and their replicas, publishes how far that is, and lists in the order of the log read no further.
 */
export class Searchable {
  private applied: Points = {};
  private touched = new Set<string>();
  /** Whether other processes may have applied documents that are not searchable yet. */
  private everything = true;
  private known: { readonly value: Points; readonly version: Version } | undefined;
  readonly refresh = coalesced(() => this.refreshOnce());
  /** Whether the generation is known to be open for reads. */
  private isOpen = false;

  constructor(
    private readonly es: Elasticsearch,
    private readonly catalog: Catalog,
    private readonly progress: ProgressKeeper,
    private readonly generation: number,
  ) {}

  /** The next refresh to begin includes the index. */
  add(index: string): void {
    this.touched.add(index);
  }

  /** Everything before these points is applied, and its indices are added. */
  raise(points: Points): void {
    this.applied = laterPoints(this.applied, points);
  }

  /** Other processes have applied this much: the next refresh includes all indices if it is more than is searchable. */
  addOthers(nexts: Nexts): void {
    const known = laterPoints(this.applied, this.known?.value ?? {});
    const isAhead = ([partition, point]: readonly [string, Point]) => isBefore(known[partition] ?? [0, 0], point);
    if (Object.entries(pointsOf(nexts)).some(isAhead)) this.everything = true;
  }

  private async refreshOnce(): Promise<void> {
    const { applied, touched, everything } = this;
    this.touched = new Set();
    this.everything = false;
    try {
      const points = everything ? laterPoints(applied, pointsOf(await this.progress.read())) : applied;
      const many = everything || touched.size > MOST_NAMES;
      await this.refreshIndices(
        many ? KIND_NAMES.map((kind) => this.catalog.names.documents(this.generation, kind)) : [...touched],
      );
      // Readers of what is published examine what they read themselves, so it need not wait to be examined.
      const [published] = await Promise.all([this.publish(points), this.requireIntact()]);
      await this.openOnce(published);
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
  }

  /** What is announced as searchable is found: nothing was lost until after the refresh. */
  private async requireIntact(): Promise<void> {
    const lost = await this.catalog.lostOf(this.generation);
    if (lost.length > 0) throw new GenerationLost(`the read model lost ${lost.join(', ')}`);
  }

  private async publish(points: Points): Promise<Points> {
    try {
      return await this.written(points);
    } catch (error) {
      if (!isMissing(error)) throw error;
      throw new GenerationLost(`generation ${this.generation} of the read model no longer exists`);
    }
  }

  /** Stores these points, if they are later; returns the stored ones. */
  private async written(points: Points): Promise<Points> {
    const { names } = this.catalog;
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      this.known ??= await readState(this.es, names.progress(this.generation), 'searchable');
      const { value: known, version: over } = this.known;
      const value = laterPoints(known, points);
      if (Object.entries(value).every(([partition, point]) => known[partition] === point)) return known;
      const version = await writeState(this.es, names.keeper(this.generation), 'searchable', value, over);
      this.known = version && { value, version };
      if (version) return value;
    }
    throw new ElasticsearchFault(
      'other processes kept publishing how much of the read model is searchable',
      409,
      'searchable_contended',
    );
  }

  /**
   * Opens the generation for reads once searches see all records that the log had when it was created. The process that
   * makes the last of them searchable does it.
   */
  private async openOnce(points: Points): Promise<void> {
    if (this.isOpen) return;
    const isReached = ({ goal }: Manifest) =>
      Object.entries(goal).every(([partition, next]) => !isBefore(points[partition] ?? [0, 0], [next, 0]));
    const open = (one: Manifest) => (one.isOpen || !isReached(one) ? one : { ...one, isOpen: true });
    const { isOpen } = await changeState(this.es, this.catalog.names, this.generation, 'manifest', open);
    this.isOpen = isOpen;
  }
}

function pointsOf(nexts: Nexts): Points {
  return Object.fromEntries(Object.entries(nexts).map(([partition, next]) => [partition, [next, 0]]));
}
