import type { ApiClient } from '../../client/api-client.js';
import { type Note, pagesFrom } from '../../client/follow.js';
import { positionAfter } from '../../client/pages.js';
import { type RawPage, readPage } from '../page.js';

interface Following {
  client: ApiClient;
  /** Where to go on: after this page, or at this position. */
  from: RawPage | string;
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
  const read = (at: string) => readPage(client, at, { retry: 'never' });
  const start = typeof from === 'string' ? from : positionAfter(from);
  for await (const page of pagesFrom(client, start, read, note)) {
    const shown = page.items.filter(wanted).slice(0, left);
    await show(shown);
    left -= shown.length;
    if (left <= 0 || stopped()) return;
    await noteShown?.(positionAfter(page));
  }
}
