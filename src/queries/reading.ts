import { Inject, Injectable } from '@nestjs/common';
import { LIMITS } from '../contract/limits.js';
import { CONFIG, type Config } from '../platform/config/config.js';
import { type Job, Turns } from '../platform/turns.js';
import type { Document } from '../read-model/document.js';
import type { KindName } from '../read-model/kinds.js';
import { READ_MODEL, type ReadModel } from '../read-model/read-model.js';
import type { Cursor, Order } from '../read-model/search.js';

/**
 * A page ends early, with `next`, with the item that brings it to so many bytes. Pages by number are counted in whole pages
 * all the same: page 2 begins behind the first `pageSize` items, however few of them page 1 gave. `next` loses none.
 */
export const PAGE_BYTES = 4 * 1024 * 1024;

const BY_NAME: Order = { field: 'name', direction: 'ascending' };
const READ_AT_ONCE = LIMITS.page.most;

/** Begins the reading of queries that look at all resources of a kind. */
@Injectable()
export class Readings {
  constructor(
    @Inject(READ_MODEL) private readonly model: ReadModel,
    private readonly turns: Turns,
    @Inject(CONFIG) private readonly config: Pick<Config, 'requestBudgetMs'>,
  ) {}

  begin(org: string): Reading {
    const remedy = 'ask with fewer terms, or without a sort or a relation';
    return new Reading(this.model, this.turns, { org, budgetMs: this.config.requestBudgetMs, remedy });
  }
}

/** What one query reads and looks at, in slices and within the budget of one request. */
export class Reading {
  constructor(
    readonly model: ReadModel,
    private readonly turns: Turns,
    private readonly job: Job,
  ) {}

  /**
   * All resources of the kind, by name, until one ends it: so many are read at first, as all that the reader may want, and
   * then many at once.
   */
  async each(
    kind: KindName,
    look: (document: Document) => 'on' | 'enough',
    { start, first = READ_AT_ONCE }: { readonly start?: Cursor | undefined; readonly first?: number } = {},
  ): Promise<void> {
    const { org, budgetMs } = this.job;
    let limit = Math.min(first, READ_AT_ONCE);
    for (let cursor = start; ; limit = READ_AT_ONCE) {
      const query = { org, filters: [], order: BY_NAME, limit, maxBytes: PAGE_BYTES };
      const page = await this.model.search(kind, {
        ...query,
        ...(cursor && { cursor }),
        ...(budgetMs !== undefined && { budgetMs }),
      });
      const { items, more } = page;
      const isEnough = await this.turns.run(this.job, lookedAt(items, look));
      if (isEnough || !more || !page.cursor) return;
      cursor = page.cursor;
    }
  }
}

function* lookedAt(
  items: readonly Document[],
  look: (document: Document) => 'on' | 'enough',
): Generator<void, boolean, boolean> {
  for (const document of items) {
    if (look(document) === 'enough') return true;
    yield;
  }
  return false;
}
