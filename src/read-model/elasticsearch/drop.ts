import { randomBytes } from 'node:crypto';
import type { Catalog } from './catalog.js';
import { type Elasticsearch, isMissing } from './client.js';

/** So long after it was claimed nobody is dropping a month any more. */
const ABANDONED_MS = 10 * 60_000;

/**
 * Drops the months of a generation that have no documents any more. While it is claimed a month cannot be written to: its
 * writer's alias is gone, and what was under way is waited for. Only whoever holds the claim can remove it, which is one
 * change with giving the claim back: so a month that was made anew meanwhile is never removed in its place.
 */
export class MonthDropper {
  constructor(
    private readonly es: Elasticsearch,
    private readonly catalog: Catalog,
    private readonly generation: number,
  ) {}

  /** Those before this month that are empty. */
  async dropEmpty(before: string, now: number): Promise<void> {
    await this.releaseAbandoned(now);
    for (const month of await this.emptyMonths()) if (month < before) await this.drop(month, now);
  }

  /** As far as can be seen without looking closer. */
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
    const claimed = await this.changed([
      { drop: names.writer(index), on: index },
      { add: claim, on: progress },
    ]);
    if (!claimed) return;
    try {
      await this.es.request('PUT', `/${index}/_block/write`);
      await this.es.request('POST', `/${index}/_refresh`);
      const { count } = await this.es.request<{ count: number }>('GET', `/${index}/_count`);
      if (count === 0) await this.changed([{ drop: claim, on: progress }, { delete: index }]);
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
      await this.changed([given, { add: names.writer(index), on: index }]);
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.changed([given]);
    }
  }

  /** Not where what the change depends on is not there. */
  private async changed(steps: Parameters<Catalog['change']>[0]): Promise<boolean> {
    try {
      await this.catalog.change(steps);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }
}
