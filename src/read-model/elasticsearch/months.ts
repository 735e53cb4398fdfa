import { randomBytes } from 'node:crypto';
import type { Catalog } from './catalog.js';
import { type Elasticsearch, ElasticsearchFault, isMissing } from './client.js';
import type { ProgressKeeper } from './progress.js';

/** The monthly indices of one generation, each created for the first document of its month. */
export class Months {
  private readonly ready = new Map<string, Promise<void>>();

  constructor(
    private readonly catalog: Catalog,
    private readonly progress: ProgressKeeper,
    private readonly generation: number,
    private readonly isLive: boolean,
  ) {}

  /** Resolves when these months can be written to, and are visible if the generation is live. */
  async ensure(months: Iterable<string>): Promise<void> {
    await Promise.all([...new Set(months)].map((month) => this.known(month)));
  }

  /** Looks them up again the next time: one of them turned out to be missing. */
  forget(): void {
    this.ready.clear();
  }

  private known(month: string): Promise<void> {
    const known = this.ready.get(month);
    if (known) return known;
    const made = this.make(month);
    this.ready.set(month, made);
    made.catch(() => this.ready.delete(month));
    return made;
  }

  private async make(month: string): Promise<void> {
    const { catalog, generation } = this;
    const { names } = catalog;
    const index = names.month(generation, month);
    let aliases = await catalog.aliasesOn(index);
    if (!aliases) {
      await catalog.require(generation);
      await catalog.createMonth(generation, month);
      aliases = (await catalog.aliasesOn(index)) ?? [];
    }
    if (!aliases.includes(names.writer(index))) {
      throw new ElasticsearchFault(`${index} is being dropped; try again`, 409, 'month_dropped');
    }
    const missing = names.liveAliases(generation, index).filter((alias) => !aliases.includes(alias));
    if (this.isLive && missing.length > 0) await this.show(index);
  }

  /**
   * Makes the index visible while it is still empty, and only if its generation is still live: a month that appeared under
   * the live names after a promotion would mix two generations.
   */
  private async show(index: string): Promise<void> {
    const { catalog, generation } = this;
    const { names } = catalog;
    const progress = names.progress(generation);
    await catalog.awaitActive(index);
    try {
      await catalog.change([
        ...catalog.requiring(names.writer(progress), progress),
        ...catalog.requiring(names.liveProgress, progress, true),
        ...catalog.showing(generation, index),
      ]);
    } catch (error) {
      // Throws the reason if the generation is sealed or lost.
      if (isMissing(error)) await this.progress.requireOpen();
      throw error;
    }
  }
}

/** After this time a claim on a month is abandoned. */
const ABANDONED_MS = 10 * 60_000;

/**
 * Drops the empty months of a generation. A claimed month cannot be written to: its write alias is removed, and a write
 * block waits for the writes under way. Only the holder of the claim can delete the index, in the change that gives the
 * claim up, so an index that was created in the meantime is never deleted.
 */
export class MonthDropper {
  constructor(
    private readonly es: Elasticsearch,
    private readonly catalog: Catalog,
    private readonly generation: number,
  ) {}

  /** Drops empty months before this one. */
  async dropEmpty(before: string, now: number): Promise<void> {
    await this.releaseAbandoned(now);
    for (const month of await this.emptyMonths()) if (month < before) await this.drop(month, now);
  }

  /** Candidates: the statistics do not cover writes under way. */
  private async emptyMonths(): Promise<string[]> {
    const { names } = this.catalog;
    type Answer = { readonly indices?: Readonly<Record<string, { primaries?: { docs?: { count: number } } }>> };
    const path = `/${names.months(this.generation)}/_stats/docs`;
    const { indices = {} } = await this.es.request<Answer>('GET', path);
    return Object.entries(indices).flatMap(([index, { primaries }]) => {
      const month = names.monthOf(this.generation, index);
      return month !== undefined && primaries?.docs?.count === 0 ? [month] : [];
    });
  }

  private async drop(month: string, now: number): Promise<void> {
    const { names } = this.catalog;
    const [index, progress] = [names.month(this.generation, month), names.progress(this.generation)];
    const claim = names.claim(this.generation, month, now, randomBytes(8).toString('hex'));
    const claimed = await this.catalog.tryChange([
      { drop: names.writer(index), on: index },
      { add: claim, on: progress },
    ]);
    if (!claimed) return;
    try {
      await this.es.request('PUT', `/${index}/_block/write`);
      await this.es.request('POST', `/${index}/_refresh`);
      const { count } = await this.es.request<{ count: number }>('GET', `/${index}/_count`);
      if (count === 0) await this.catalog.tryChange([{ drop: claim, on: progress }, { delete: index }]);
      else await this.release(month, claim);
    } catch (error) {
      await this.release(month, claim).catch(() => undefined);
      throw error;
    }
  }

  private async releaseAbandoned(now: number): Promise<void> {
    const { names } = this.catalog;
    const { aliases } = await this.catalog.require(this.generation);
    for (const alias of aliases) {
      const claimed = names.claimed(this.generation, alias);
      if (claimed && claimed.at < now - ABANDONED_MS) await this.release(claimed.month, alias);
    }
  }

  private async release(month: string, claim: string): Promise<void> {
    const { names } = this.catalog;
    const [index, progress] = [names.month(this.generation, month), names.progress(this.generation)];
    const given = { drop: claim, on: progress };
    try {
      await this.es.request('PUT', `/${index}/_settings`, { body: { 'index.blocks.write': null } });
      await this.catalog.tryChange([given, { add: names.writer(index), on: index }]);
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.catalog.tryChange([given]);
    }
  }
}
