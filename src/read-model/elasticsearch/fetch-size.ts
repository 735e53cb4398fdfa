import { isFault } from '../../platform/elasticsearch.js';

/** How many whole documents are fetched at once for a page with a byte limit, and how many of large ones: at most 4 MiB. */
const MANY = 64;
const FEW = 8;
const MANY_BYTES = 2 * 1024 * 1024;

/** The sizes of documents are known only once they are fetched, so a response that is too large is given up. */
export class FetchSize {
  private isFew = false;

  /** `read` gets how many documents to ask for, and how many bytes its response may have. */
  async fetch<Found>(most: number, read: (count: number, maxBytes?: number) => Promise<Found>): Promise<Found> {
    if (!this.isFew) {
      try {
        return await read(Math.min(MANY, most), MANY_BYTES);
      } catch (error) {
        if (!isTooLarge(error)) throw error;
        this.isFew = true;
      }
    }
    return read(Math.min(FEW, most));
  }
}

function isTooLarge(error: unknown): boolean {
  return isFault(error) && error.status === 0 && error.type === 'RequestAbortedError';
}
