import type { ApiClient } from '../../client/api-client.js';
import { type Note, pagesFrom, positionAfter } from '../../client/follow.js';
import type { Page } from '../../client/pages.js';

interface Following {
  client: ApiClient;
  /** Where to go on: after this page, or at this position. */
  from: Page | string;
  /** Ends after so many events. */
  limit: number;
  /** Which of the events to show, asked once for each in their order; default all. */
  wanted?(raw: string): boolean;
  show(raws: readonly string[]): Promise<void>;
  /** Told where to go on once a page was shown. */
  shown?(position: string): Promise<void>;
  note: Note;
  /** Whether nobody wants more. */
  stopped(): boolean;
}

/** Shows each wanted event after a page of the order received once, until it is interrupted. */
export async function follow(following: Following): Promise<void> {
  const { client, from, limit, wanted = () => true, show, shown: noteShown, note, stopped } = following;
  let left = limit;
  if (left <= 0) return;
  for await (const page of pagesFrom(client, typeof from === 'string' ? from : positionAfter(from), note)) {
    const shown = page.items.filter(wanted).slice(0, left);
    await show(shown);
    left -= shown.length;
    if (left <= 0 || stopped()) return;
    await noteShown?.(positionAfter(page));
  }
}
