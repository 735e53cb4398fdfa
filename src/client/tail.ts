import type { ApiClient } from './api-client.js';
import type { EventFilters, RecordedEvent } from './api-types.js';
import { Interrupted } from './errors.js';
import { pagesFrom, positionAfter } from './follow.js';
import { readPage } from './pages.js';

export interface TailOptions {
  readonly filters?: EventFilters;
  /** Goes on after this `position` of an earlier tail with the same filters; default: from now on. */
  readonly after?: string;
  /** Aborting it ends the iteration, without an error. */
  readonly signal?: AbortSignal;
  /** Told when the service is out of reach, and when it is back. */
  onNote?(text: string): void;
}

/** Events in the order that the service received them. Waits for a service that is out of reach. */
export class Tail implements AsyncIterable<RecordedEvent> {
  readonly #client: ApiClient;
  readonly #start: string;
  readonly #options: TailOptions;
  #position: string | undefined;

  constructor(client: ApiClient, start: string, options: TailOptions) {
    this.#client = client;
    this.#start = start;
    this.#options = options;
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
    const { signal, onNote = () => undefined } = this.#options;
    try {
      this.#position ??= positionAfter(await readPage(this.#client, this.#start));
      for await (const page of pagesFrom(this.#client, this.#position, onNote)) {
        for (const raw of page.items) yield JSON.parse(raw) as RecordedEvent;
        this.#position = positionAfter(page);
      }
    } catch (error) {
      if (!(error instanceof Interrupted && signal?.aborted)) throw error;
    } finally {
      this.#client.close();
    }
  }
}
