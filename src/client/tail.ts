import type { ApiClient } from './api-client.js';
import type { EventFilters, RecordedEvent } from './api-types.js';
import { Interrupted } from './errors.js';
import { type Note, pagesFrom } from './follow.js';
import { positionAfter, readPage } from './pages.js';

export interface TailOptions {
  readonly filters?: EventFilters;
  /** Goes on after this `position` of an earlier tail with the same filters; default: from now on. */
  readonly after?: string;
  /** Aborting it ends the iteration, without an error. */
  readonly signal?: AbortSignal;
  /** Told when the service is out of reach, and when it is back. */
  readonly onNote?: Note;
}

/** Events in the order that the service received them. Waits for a service that is out of reach. */
export class Tail implements AsyncIterable<RecordedEvent> {
  #position: string | undefined;

  constructor(
    private readonly client: ApiClient,
    private readonly start: string,
    private readonly options: TailOptions,
  ) {
    this.#position = options.after;
  }

  /**
   * Where a later tail goes on. It is that of the last page whose events were all taken from the loop: a process that stores it
   * and starts again misses nothing, and may get the events of one page twice.
   */
  get position(): string | undefined {
    return this.#position;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RecordedEvent, void, undefined> {
    const { signal, onNote } = this.options;
    const read = (at: string) => readPage<RecordedEvent>(this.client, at, 'never');
    try {
      this.#position ??= positionAfter(await readPage(this.client, this.start));
      for await (const page of pagesFrom(this.client, this.#position, read, onNote)) {
        yield* page.items;
        this.#position = positionAfter(page);
      }
    } catch (error) {
      if (!(error instanceof Interrupted && signal?.aborted)) throw error;
    } finally {
      this.client.close();
    }
  }
}
