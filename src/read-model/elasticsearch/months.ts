import { randomBytes } from 'node:crypto';
import { type Elasticsearch, ElasticsearchFault, isMissing } from '../../platform/elasticsearch.js';
import { GenerationLost } from '../read-model.js';
import type { Catalog, Step } from './catalog.js';
import { MARK } from './intact.js';
import type { ProgressKeeper } from './progress.js';
import { changeState, type Manifest, readState } from './state.js';

/** The months in the manifest of a generation. Each is listed after its index is created, and before it has documents. */
class Listed {
  constructor(
    private readonly es: Elasticsearch,
    private readonly catalog: Catalog,
    private readonly generation: number,
  ) {}

  async has(month: string): Promise<boolean> {
    const { value } = await readState(this.es, this.catalog.names.progress(this.generation), 'manifest');
    return value.months.includes(month);
  }

  async add(month: string): Promise<void> {
    await this.change((one) => (one.months.includes(month) ? one : { ...one, months: [...one.months, month].sort() }));
  }

  /** Of an empty month that nothing can be written to: it may disappear at any time from now on. */
  async remove(month: string): Promise<void> {
    await this.change((one) => ({ ...one, months: one.months.filter((other) => other !== month) }));
  }

  private async change(to: (manifest: Manifest) => Manifest): Promise<void> {
    await changeState(this.es, this.catalog.names, this.generation, 'manifest', to);
  }
}

/** The monthly indices of one generation, each created for the first document of its month. */
export class Months {
  private readonly ready = new Map<string, Promise<void>>();
  private readonly listed: Listed;

  constructor(
    es: Elasticsearch,
    private readonly catalog: Catalog,
    private readonly progress: ProgressKeeper,
    private readonly generation: number,
  ) {
    this.listed = new Listed(es, catalog, generation);
  }

  /** Resolves when these months can be written to and are read. Throws `GenerationLost` if one of them was lost. */
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
    const isListed = await this.listed.has(month);
    if (!isListed && (!aliases || aliases.includes(names.writer(index)))) {
      // Throws the reason if the generation is sealed or lost.
      await this.progress.requireOpen();
      await catalog.createMonth(generation, month);
    }
    // Another process may have created it meanwhile.
    aliases ??= await catalog.aliasesOn(index);
    if (!aliases && isListed) throw new GenerationLost(`the read model lost ${index}`);
    if (!aliases?.includes(names.writer(index))) {
      throw new ElasticsearchFault(`${index} is being dropped; try again`, 409, 'month_dropped');
    }
    if (!isListed) await this.listed.add(month);
  }
}

/** The documents of an empty month. */
const MARKS = 1;

/** After this time a claim on a month is abandoned. */
const ABANDONED_MS = 10 * 60_000;

/**
 * Drops the empty months of a generation. A claimed month cannot be written to: its write alias is removed, and a write
 * block waits for the writes under way. Only the holder of the claim can delete the index, in the change that gives the
 * claim up, so an index that was created in the meantime is never deleted.
 */
export class MonthDropper {
  private readonly listed: Listed;

  constructor(
    private readonly es: Elasticsearch,
    private readonly catalog: Catalog,
    private readonly generation: number,
  ) {
    this.listed = new Listed(es, catalog, generation);
  }

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
      return month !== undefined && (primaries?.docs?.count ?? MARKS + 1) <= MARKS ? [month] : [];
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
      if (!(await this.isEmpty(index)) || !(await this.remove(month, { drop: claim, on: progress })))
        await this.release(month, claim);
    } catch (error) {
      await this.release(month, claim).catch(() => undefined);
      throw error;
    }
  }

  /** Rejects with status 404 if the mark is missing: then the month did not become empty by itself. */
  private async isEmpty(index: string): Promise<boolean> {
    await this.es.request('GET', `/${index}/_doc/${MARK}`);
    const body = { query: { exists: { field: 'org' } } };
    return (await this.es.request<{ count: number }>('POST', `/${index}/_count`, { body })).count === 0;
  }

  private async remove(month: string, claim: Step): Promise<boolean> {
    await this.listed.remove(month);
    return this.catalog.tryChange([claim, { delete: this.catalog.names.month(this.generation, month) }]);
  }

  private async releaseAbandoned(now: number): Promise<void> {
    const { names } = this.catalog;
    const { aliases } = await this.catalog.require(this.generation);
    for (const alias of aliases) {
      const claimed = names.claimed(this.generation, alias);
      if (claimed && claimed.at < now - ABANDONED_MS) await this.release(claimed.month, alias);
    }
  }

  /** Has the month written to and read again, and gives up the claim on it, if there is one. */
  async release(month: string, claim?: string): Promise<void> {
    const { names } = this.catalog;
    const [index, progress] = [names.month(this.generation, month), names.progress(this.generation)];
    const given = claim === undefined ? [] : [{ drop: claim, on: progress }];
    try {
      await this.es.request('PUT', `/${index}/_settings`, { body: { 'index.blocks.write': null } });
      await this.listed.add(month);
      await this.catalog.tryChange([...given, { add: names.writer(index), on: index }]);
    } catch (error) {
      if (!isMissing(error)) throw error;
      if (given.length > 0) await this.catalog.tryChange(given);
    }
  }
}
