import { type ApiClient, path, retryDelay } from '../../client/api-client.js';
import { publishBulk } from '../../client/bulk.js';
import type { ErrorBody } from '../../client/errors.js';
import { LIMITS } from '../../contract/limits.js';
import { bulkLine, type Fault, type Item } from './items.js';

/** The service takes twice as much; smaller requests are spread better and repeated cheaper. */
const MOST_ITEMS = LIMITS.bulkEvents / 2;
const MOST_BYTES = LIMITS.bulkBytes / 2;
const ATTEMPTS = 6;

export type Outcome =
  | { line: number; id: string; status: number; repeated?: true }
  | { line: number; error: ErrorBody };

export interface Target {
  org: string;
  context: string;
  async: boolean;
}

/**
 * Publishes items in bulk requests, one after the other, so that the log has them in the order of the file. Yields the
 * outcomes of each request in order. Repeating is safe at every level: each item carries its key.
 */
export class Publisher {
  readonly #path: string;

  constructor(
    readonly client: ApiClient,
    { org, context, async }: Target,
  ) {
    this.#path = `${path`/audit/org/${org}/auditctx/${context}/-bulk`}?async=${async}`;
  }

  async *publish(items: AsyncIterable<Item | Fault>): AsyncGenerator<Outcome[]> {
    for await (const batch of batches(items)) {
      const sent = await this.#send(batch.filter((item): item is Item => 'event' in item));
      const failed = batch.filter((item): item is Fault => 'fault' in item).map(toOutcome);
      yield [...sent, ...failed].sort((a, b) => a.line - b.line);
    }
  }

  /** Sends until every item has a final outcome, or those that the service was too busy for had their attempts. */
  async #send(items: Item[]): Promise<Outcome[]> {
    const done: Outcome[] = [];
    let left = items;
    for (let attempt = 0; left.length > 0; attempt++) {
      const results = await this.#request(left);
      const last = attempt + 1 >= ATTEMPTS;
      const busy: Item[] = [];
      results.forEach((outcome, index) => {
        const isBusy = 'error' in outcome && [429, 503].includes(outcome.error.status);
        if (isBusy && !last) busy.push(left[index] as Item);
        else done.push(outcome);
      });
      left = busy;
      if (left.length > 0) await this.client.pause(retryDelay(attempt, undefined));
    }
    return done;
  }

  async #request(items: Item[]): Promise<Outcome[]> {
    const lines = items.map((item) => Buffer.from(bulkLine(item)));
    const outcomes = await publishBulk(this.client, this.#path, lines, 'patient');
    return outcomes.map((outcome, index) => ({ line: (items[index] as Item).line, ...outcome }));
  }
}

/** Groups of items that fit into one request; faults travel along, so that outcomes keep the order of the file. */
async function* batches(items: AsyncIterable<Item | Fault>): AsyncGenerator<(Item | Fault)[]> {
  let batch: (Item | Fault)[] = [];
  let bytes = 0;
  for await (const item of items) {
    const size = 'event' in item ? Buffer.byteLength(bulkLine(item)) : 0;
    if (batch.length > 0 && (batch.length >= MOST_ITEMS || bytes + size > MOST_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

const toOutcome = ({ line, fault }: Fault): Outcome => ({
  line,
  error: { status: 400, code: 'invalid_line', message: fault },
});
