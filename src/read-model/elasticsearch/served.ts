import type { Catalog } from './catalog.js';
import { ElasticsearchFault } from './client.js';

/**
 * Resolves where everything is shown by what was read: `index` is where something of it was found, absent where nothing
 * was. Rejects with status 404 where that cannot be told and the same must be read again, with 503 where there is nothing
 * to be read, or not everything yet.
 */
export type Vouch = (index?: string) => Promise<void>;

/**
 * Vouches for reads. A live generation that is being filled does not show everything, and one that is made anew after a
 * loss becomes live before it has anything: an answer from it would deny what was acknowledged.
 */
export class Served {
  /** The live generation that was last seen to have everything; it has from then on. */
  private generation: number | undefined;

  constructor(private readonly catalog: Catalog) {}

  /** To be called before what is vouched for is read: a generation may be filled between a read and the question. */
  begin(): Vouch {
    const { generation } = this;
    return async (index) => {
      if (index !== undefined && this.catalog.names.generationIn(index) === generation) return;
      this.generation = await this.catalog.requireFilled();
      if (this.generation === generation) return;
      throw replaced();
    };
  }
}

/** What was read is of two generations: the same must be read again. */
export function replaced(): ElasticsearchFault {
  return new ElasticsearchFault('another generation has become the live one', 404, 'generation_replaced');
}
