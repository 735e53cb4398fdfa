import { type ApiClient, isPassing, retryDelay } from './api-client.js';
import { ApiError, ClientError } from './errors.js';
import { linkOf, type Page, readPage } from './pages.js';

/** How often to poll: quickly after there was something, more slowly the longer there is nothing. */
const LOOK_MS = { first: 500, most: 2_000, growth: 1.3 };
const LONGEST_WAIT_MS = 60_000;

export interface Following {
  client: ApiClient;
  /** The page after which to go on. */
  from: Page;
  /** Ends after so many events. */
  limit: number;
  /** Which of the events to show, asked once for each in their order; default all. */
  wanted?(raw: string): boolean;
  show(raws: readonly string[]): Promise<void>;
  note(text: string): void;
  /** Whether nobody wants more. */
  stopped(): boolean;
}

/**
 * Shows each wanted event after a page of the order received once, for ever. The position is the service's own cursor,
 * so it survives restarts of the service; it advances only after the events before it were shown.
 */
export async function follow(following: Following): Promise<void> {
  const { client, from, limit, wanted = () => true, show, note, stopped } = following;
  let page = from;
  let left = limit;
  let wait = LOOK_MS.first;
  while (left > 0 && !stopped()) {
    if (linkOf(page, 'next') === undefined) await client.pause(wait);
    page = await readPatiently(client, resumeOf(page), note);
    const shown = page.items.filter(wanted).slice(0, left);
    await show(shown);
    left -= shown.length;
    wait = shown.length > 0 ? LOOK_MS.first : Math.min(LOOK_MS.most, wait * LOOK_MS.growth);
  }
}

function resumeOf(page: Page): string {
  const resume = linkOf(page, 'resume');
  if (resume === undefined) throw new ClientError('the service sent no `resume` link: the list cannot be followed');
  return resume;
}

/** Waits for a service that is out of reach, as long as it takes. */
async function readPatiently(client: ApiClient, at: string, note: Following['note']): Promise<Page> {
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
