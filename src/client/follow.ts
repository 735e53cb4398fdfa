import { type ApiClient, isPassing, retryDelay } from './api-client.js';
import { ApiError, ClientError } from './errors.js';
import { linkOf, type Page, readPage } from './pages.js';

/** How often to poll: quickly after there was something, more slowly the longer there is nothing. */
const LOOK_MS = { first: 500, most: 2_000, growth: 1.3 };
const LONGEST_WAIT_MS = 60_000;

/** Told when the service is out of reach, and when it is back. */
export type Note = (text: string) => void;

/**
 * The pages of the order received from a position on, for ever, also empty ones. A position is the service's own cursor, so
 * it survives restarts of the service. No event is missing and none comes twice.
 */
export async function* pagesFrom(client: ApiClient, position: string, note: Note): AsyncGenerator<Page> {
  let wait = LOOK_MS.first;
  for (let at = position; ; ) {
    const page = await readPatiently(client, at, note);
    yield page;
    at = positionAfter(page);
    if (linkOf(page, 'next') !== undefined) continue;
    wait = page.items.length > 0 ? LOOK_MS.first : Math.min(LOOK_MS.most, wait * LOOK_MS.growth);
    await client.pause(wait);
  }
}

/** Where a list in the order received goes on after a page. */
export function positionAfter(page: Page): string {
  const resume = linkOf(page, 'resume');
  if (resume === undefined) throw new ClientError('the service sent no `resume` link: the list cannot be followed');
  return resume;
}

/** Waits for a service that is out of reach, as long as it takes. */
async function readPatiently(client: ApiClient, at: string, note: Note): Promise<Page> {
  for (let attempt = 0; ; attempt++) {
    try {
      const page = await readPage(client, at, { retry: 'never' });
      if (attempt > 0) note('the service is back; going on where it stopped');
      return page;
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (attempt === 0) note(`${(error as Error).message}; waiting for the service`);
      const asked = error instanceof ApiError ? error.retryAfterMs : undefined;
      await client.pause(Math.min(LONGEST_WAIT_MS, retryDelay(attempt, asked)));
    }
  }
}
