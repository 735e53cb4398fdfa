import type { Offsets, Topic } from '../../event-log/event-log.js';
import type { Clock } from '../../platform/clock.js';
import { isMissing } from '../../platform/elasticsearch.js';
import { checkWrite, type Outcome, type StoredDocument, type Write } from '../document.js';
import type { KindName } from '../kinds.js';
import {
  type Generation,
  GenerationLost,
  GenerationSealed,
  type Progress,
  type ScanRange,
  type StrayPage,
  type StrayRange,
} from '../read-model.js';
import { type Limits, limitsOf } from '../retention.js';
import type { Points } from '../search.js';
import { applyWrites, type Target } from './apply.js';
import { homeOf, locationIn, monthOf } from './document.js';
import { GatheredWrites } from './gathered.js';
import { MonthDropper, Months } from './months.js';
import { isMonthly } from './names.js';
import { ProgressKeeper } from './progress.js';
import type { Parts } from './reader.js';
import { findStrays, overwriteDocument, removeDocument, scanRange } from './repair.js';
import { appliedPoints, Searchable } from './searchable.js';
import { sweepDocuments } from './sweep.js';

/** One generation, live or not, as one process writes to it. */
export class ElasticsearchGeneration implements Generation {
  private readonly keeper: ProgressKeeper;
  private readonly months: Months;
  private readonly searchable: Searchable;
  private readonly gathered = new GatheredWrites((writes) =>
    this.write(indicesOf(writes), (target) => applyWrites(target, writes)),
  );
  /** Whether the last write met a seal. */
  private isSealed = false;
  private hasEnded = false;

  constructor(
    private readonly parts: Parts,
    readonly number: number,
    private readonly clock: Clock,
  ) {
    const { es, catalog } = parts;
    this.keeper = new ProgressKeeper(es, catalog, number, clock);
    this.months = new Months(es, catalog, this.keeper, number);
    this.searchable = new Searchable(es, catalog, this.keeper, number);
  }

  /** Refuses writes from now on: the generation became live, where others write too, or is to be removed. */
  end(): void {
    this.hasEnded = true;
  }

  async apply(topic: Topic, writes: readonly Write[], progress: Offsets, from?: Offsets): Promise<Outcome[]> {
    if (this.hasEnded) throw new GenerationLost(`generation ${this.number} is no longer written by this process`);
    for (const write of writes) checkWrite(write);
    try {
      // While sealed, retries of a batch do not send its documents each time.
      if (this.isSealed) await this.keeper.requireOpen();
      const codes = await this.gathered.add(writes);
      // Another process may have carried a partition before, and its writes may not be searchable yet.
      this.searchable.addOthers(await this.keeper.advance(topic, progress, from));
      this.isSealed = false;
      this.noteApplied(indicesOf(writes), appliedPoints(topic, writes, progress));
      return writes.map(({ id }, at) => ({ code: codes[at] ?? 'applied', id }));
    } catch (error) {
      if (error instanceof GenerationSealed) this.isSealed = true;
      throw error;
    }
  }

  async progress(topic: Topic): Promise<Progress> {
    const all = await this.keeper.read();
    this.searchable.addOthers(all);
    const own = Object.entries(all).filter(([partition]) => partition.startsWith(`${topic}/`));
    const next = own.map(([partition, offset]) => [partition.slice(topic.length + 1), offset]);
    return { generation: this.number, next: Object.fromEntries(next) };
  }

  async refresh(): Promise<number> {
    await this.searchable.refresh();
    return this.number;
  }

  /** Restores aliases that were lost; what they lead to is intact. */
  async restoreAliases(): Promise<void> {
    const { es, catalog } = this.parts;
    const { names } = catalog;
    const [indices, progress] = [await catalog.indices(this.number), names.progress(this.number)];
    const own = indices.get(progress) ?? [];
    if (!own.includes(names.keeper(this.number))) {
      await catalog.tryChange([{ add: names.keeper(this.number), on: progress }]);
    }
    const claimed = new Set(own.map((alias) => names.claimed(this.number, alias)?.month));
    for (const [index, aliases] of indices) {
      if (aliases.includes(names.writer(index))) continue;
      const month = names.monthOf(this.number, index);
      if (index === progress) await this.keeper.requireOpen().catch(unlessSealed);
      else if (month === undefined) await catalog.tryChange([{ add: names.writer(index), on: index }]);
      else if (!claimed.has(month)) await new MonthDropper(es, catalog, this.number).release(month);
    }
  }

  async sweep(signal: AbortSignal): Promise<number> {
    const { es, catalog, retention } = this.parts;
    const now = this.clock.now();
    const removed = await sweepDocuments(this.target(), retention, signal);
    for (const index of removed.keys()) this.searchable.add(index);
    // Only then do the statistics show which months are empty.
    if (removed.size > 0) await this.refresh();
    if (!signal.aborted) await new MonthDropper(es, catalog, this.number).dropEmpty(monthOf(now), now);
    return removed.values().reduce((sum, count) => sum + count, 0);
  }

  scan(kind: KindName, range: ScanRange): Promise<readonly StoredDocument[]> {
    return scanRange(this.target(), kind, range);
  }

  strays(kind: KindName, ends: Readonly<Partial<Record<Topic, Offsets>>>, range: StrayRange): Promise<StrayPage> {
    return findStrays(this.target(), kind, ends, range);
  }

  async overwrite(write: Write): Promise<void> {
    checkWrite(write);
    const indices = indicesOf([write]);
    await this.write(indices, (target) => overwriteDocument(target, write));
    this.noteApplied(indices, appliedPoints(write.place.topic, [write], {}));
  }

  async remove(kind: KindName, document: StoredDocument): Promise<void> {
    await removeDocument(this.target(), kind, document);
    this.searchable.add(locationIn(document.location).index);
  }

  /** Does the work once the indices exist, and repeats it if one of them was dropped meanwhile. */
  private async write<Result>({ months }: Indices, work: (target: Target) => Promise<Result>): Promise<Result> {
    const attempt = async () => {
      await this.months.ensure(months);
      return work(this.target());
    };
    try {
      return await attempt();
    } catch (error) {
      if (!isMissing(error)) throw error;
      this.months.forget();
      const lost = await this.parts.catalog.lostOf(this.number);
      if (lost.length > 0) throw new GenerationLost(`the read model lost ${lost.join(', ')}`);
      return attempt();
    }
  }

  private noteApplied({ months, kinds }: Indices, points: Points): void {
    const { names } = this.parts.catalog;
    for (const month of months) this.searchable.add(names.month(this.number, month));
    for (const kind of kinds) this.searchable.add(names.kind(this.number, kind));
    this.searchable.raise(points);
  }

  /** Asks for the limits of each organization once. */
  private target(): Target {
    const { es, catalog } = this.parts;
    const known = new Map<string, Limits>();
    return {
      es,
      names: catalog.names,
      generation: this.number,
      require: () => catalog.require(this.number),
      limits: (kind, org) => {
        const key = `${kind}/${org}`;
        const limits = known.get(key) ?? limitsOf(this.parts.retention, kind, org);
        known.set(key, limits);
        return limits;
      },
    };
  }
}

function unlessSealed(error: unknown): void {
  if (!(error instanceof GenerationSealed)) throw error;
}

/** The indices that writes go to: those of months, and of kinds that are not monthly. */
interface Indices {
  readonly months: ReadonlySet<string>;
  readonly kinds: ReadonlySet<KindName>;
}

function indicesOf(writes: readonly Write[]): Indices {
  const [months, kinds] = [new Set<string>(), new Set<KindName>()];
  for (const write of writes) {
    if (isMonthly(write.kind)) months.add(homeOf(write));
    else kinds.add(write.kind);
  }
  return { months, kinds };
}
