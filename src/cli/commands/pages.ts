import type { ApiClient } from '../../client/api-client.js';
import { nextOf } from '../../client/pages.js';
import type { Member } from '../../contract/json-text.js';
import type { ListSink } from '../output/document.js';
import { linksOf, type PageOptions, type RawPage, readPage } from '../page.js';
import type { Terminal } from '../terminal.js';

interface ListRun extends PageOptions {
  client: ApiClient;
  /** The path of the first page. */
  start: string;
  sink: ListSink;
  limit: number;
  /** Leaves out the link to the next page also if one page is shown. */
  withoutNext?: boolean;
  terminal: Terminal;
  /** What is said of a list without items. */
  nothing: string;
  /** Which options show more. */
  more?: string;
}

/**
 * Follows the `next` links until the limit, passing each page on before the next is read: a list of any length takes the
 * memory of one page. One page is shown with the service's own envelope; several are one document with the first page's
 * envelope and only its `self` link, since `next` of any page would mislead. What is left out is said on standard error.
 * Resolves with the number of items shown.
 */
export async function showPages({
  client,
  start,
  sink,
  limit,
  terminal,
  nothing,
  more = '--max 0 for all',
  withoutNext,
  ...options
}: ListRun): Promise<number> {
  const first = await readPage(client, start, options);
  await sink.begin(headOf(first));
  let left = limit;
  let items = 0;
  let page = first;
  let pages = 1;
  let isCut = false;
  for (let at = start; ; pages++) {
    const shown = page.items.slice(0, left);
    await sink.items(shown);
    left -= shown.length;
    items += shown.length;
    const next = nextOf(page, at);
    isCut = next !== undefined || shown.length < page.items.length;
    if (next === undefined || left <= 0 || terminal.outputClosed) break;
    at = next;
    page = await readPage(client, next, options);
  }
  const tail = tailOf(first);
  await sink.end(pages === 1 && !withoutNext ? tail : tail.map((one) => (one.name === 'links' ? selfLink(one) : one)));
  if (isCut && left <= 0) terminal.note(`${items} shown, more exist (${more})`);
  else if (items === 0) terminal.note(nothing);
  return items;
}

/** Shows one page as the service sent it. */
export async function showPage(page: RawPage, sink: ListSink): Promise<void> {
  await sink.begin(headOf(page));
  await sink.items(page.items);
  await sink.end(tailOf(page));
}

/** Members of the envelope that are shown after the items. */
const TAIL = new Set(['query', 'links']);

const headOf = ({ envelope }: RawPage): Member[] => envelope.filter(({ name }) => !TAIL.has(name));
const tailOf = ({ envelope }: RawPage): Member[] => envelope.filter(({ name }) => TAIL.has(name));

const selfLink = ({ name, raw }: Member): Member => ({
  name,
  raw: JSON.stringify(linksOf(raw).filter(({ rel }) => rel === 'self')),
});
