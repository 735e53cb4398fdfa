import { type ApiClient, isPassing, retryDelay } from './api-client.js';
import { ApiError } from './errors.js';
import { linkOf, type Page, positionAfter } from './pages.js';

/** How often to poll: quickly after there was something, more slowly the longer there is nothing. */
const LOOK_MS = { first: 500, most: 2_000, growth: 1.3 };
const LONGEST_WAIT_MS = 60_000;

/** Told when the service is out of reach, and when it is back. */
export type Note = (text: string) => void;

/**
 * The pages of the order received from a position on, for ever, also empty ones, as `read` returns them. Waits for a service that
 * is out of reach, as long as it takes. A position is the service's own cursor, so it survives restarts of the service. No event is
 * missing and none comes twice.
 */
export async function* pagesFrom<One extends Page<unknown>>(
  client: ApiClient,
  position: string,
  read: (at: string) => Promise<One>,
  note: Note = () => undefined,
): AsyncGenerator<One> {
  let wait = LOOK_MS.first;
  for (let [at, failures] = [position, 0]; ; ) {
    try {
      const page = await read(at);
      if (failures > 0) note('the service is back; going on where it stopped');
      failures = 0;
      yield page;
      at = positionAfter(page);
      if (linkOf(page, 'next') !== undefined) continue;
      wait = page.items.length > 0 ? LOOK_MS.first : Math.min(LOOK_MS.most, wait * LOOK_MS.growth);
      await client.pause(wait);
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (failures === 0) note(`${(error as Error).message}; waiting for the service`);
      const asked = error instanceof ApiError ? error.retryAfterMs : undefined;
      await client.pause(Math.min(LONGEST_WAIT_MS, retryDelay(failures, asked)));
      failures += 1;
    }
  }
}
