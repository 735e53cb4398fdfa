import type { Catalog } from './catalog.js';
import { ElasticsearchFault, isMissing } from './client.js';
import type { ProgressKeeper } from './progress.js';

/** The indices of the months of one generation, made when the first document of a month comes. */
export class Months {
  private readonly ready = new Map<string, Promise<void>>();

  constructor(
    private readonly catalog: Catalog,
    private readonly progress: ProgressKeeper,
    private readonly generation: number,
    private readonly isLive: boolean,
  ) {}

  /** Resolves when all these months can be written to, and are read where the generation is live. */
  async ensure(months: Iterable<string>): Promise<void> {
    await Promise.all([...new Set(months)].map((month) => this.known(month)));
  }

  /** Looks again the next time: one of them has turned out not to be there. */
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
      throw new ElasticsearchFault(`${index} is being dropped: try again`, 409, 'month_dropped');
    }
    const missing = names.liveAliases(generation, index).filter((alias) => !aliases.includes(alias));
    if (this.isLive && missing.length > 0) await this.show(index);
  }

  /**
   * Only now, while it is empty, does it become a part of the live generation, and only if that is live and stays so: a
   * month that came under the names of the live generation after a promotion would mix two generations.
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
      if (isMissing(error)) await this.progress.requireOpen();
      throw error;
    }
  }
}
