import { KIND_NAMES, KINDS, type Kind } from './kinds.js';
import type { ReadModel } from './read-model.js';

/** No organization has this name. */
const NOBODY = '-';

/**
 * Reads once of everything that is served. Resolves when all of it can be read; rejects with `read_model_unavailable` as
 * the reads of a caller would.
 */
export async function probe(model: Pick<ReadModel, 'get' | 'search' | 'last' | 'count'>): Promise<void> {
  const query = { org: NOBODY, filters: [], limit: 1 };
  await Promise.all(
    KIND_NAMES.map(async (kind) => {
      const { sort, received, countBy }: Kind = KINDS[kind];
      await model.search(kind, { ...query, order: { field: sort, direction: 'descending' } });
      await model.get(kind, NOBODY, NOBODY);
      if (received) await model.last(kind, query);
      if (countBy !== undefined) await model.count(kind, NOBODY);
    }),
  );
}
