import { type ApiCall, type ApiClient, path, type Retry } from './api-client.js';
import { CliError } from './failures.js';
import { elements, type Member, members } from './json-text.js';
import type { ListSink } from './output/document.js';

/** Large enough that a long list is few calls, small enough that a page of large events fits into memory. */
export const PAGE_SIZE = 200;

export interface Resource {
  resourceName?: string | undefined;
  resourceId?: string | undefined;
}

/** The first page's path. A resource that is named alone has a list of its own; `.` and `..` no path can carry. */
export function listPath(
  org: string,
  resource: Resource,
  query: Record<string, string | undefined>,
  limit: number,
): string {
  const { resourceName: name, resourceId: id } = resource;
  const rest: Record<string, string | undefined> = { pageSize: String(Math.min(limit, PAGE_SIZE)), ...query };
  if (isSegment(name)) {
    return path`/audit/org/${org}/resource/name/${name}` + queryText({ ...rest, resourceId: id });
  }
  if (isSegment(id)) return path`/audit/org/${org}/resource/id/${id}` + queryText({ ...rest, resourceName: name });
  return path`/audit/org/${org}` + queryText({ ...rest, resourceName: name, resourceId: id });
}

const isSegment = (text: string | undefined): text is string => text !== undefined && !['', '.', '..'].includes(text);

/** `?name=value&...` of those that are given. */
export function queryText(query: Record<string, string | undefined>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `?${given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}`;
}

interface ListRun {
  sink: ListSink;
  start: string;
  limit: number;
  /** Whether nobody wants more. */
  stopped(): boolean;
}

interface EventListRun extends ListRun {
  client: ApiClient;
  /** Which address the list is on; default the audit API. */
  on?: ApiCall['on'];
}

/** Lists audit events; see `listPages`. */
export function listEvents({ client, on, ...run }: EventListRun): Promise<void> {
  return listPages({ ...run, read: (at) => readPage(client, at, { on }) });
}

/**
 * Follows the `next` links until the limit, passing each page on before the next is asked for. One page is shown with
 * the service's own envelope; several are one document with the first page's envelope and only its `self` link, since
 * `next` of any page would mislead.
 */
export async function listPages({
  read,
  sink,
  start,
  limit,
  stopped,
}: ListRun & { read(at: string): Promise<EventPage> }): Promise<void> {
  const first = await read(start);
  await sink.begin(first.envelope.filter(({ name }) => !TAIL.has(name)));
  let left = limit;
  let page = first;
  let pages = 1;
  for (let at = start; ; pages++) {
    const shown = page.items.slice(0, left);
    await sink.items(shown);
    left -= shown.length;
    const next = linkOf(page, 'next');
    if (next === undefined || left <= 0 || stopped()) break;
    if (next === at) throw new CliError('the service sent a `next` link that leads nowhere new');
    at = next;
    page = await read(next);
  }
  const tail = first.envelope.filter(({ name }) => TAIL.has(name));
  await sink.end(pages === 1 ? tail : tail.map((one) => (one.name === 'links' ? selfLink(one) : one)));
}

/** Members of the envelope that are shown behind the items. */
const TAIL = new Set(['query', 'links']);

/** Shows one page as the service sent it. */
export async function showPage(page: EventPage, sink: ListSink): Promise<void> {
  await sink.begin(page.envelope.filter(({ name }) => !TAIL.has(name)));
  await sink.items(page.items);
  await sink.end(page.envelope.filter(({ name }) => TAIL.has(name)));
}

export interface EventPage {
  /** All members but the items. */
  envelope: Member[];
  items: string[];
}

export async function readPage(
  client: ApiClient,
  at: string,
  { retry = 'safe', on = 'audit' }: { retry?: Retry; on?: ApiCall['on'] | undefined } = {},
): Promise<EventPage> {
  const text = await client.call({ method: 'GET', path: at, on, retry });
  const body = (text.trimStart().startsWith('{') ? members(text) : []) as Member[];
  const items = body.find(({ name }) => name === 'items');
  if (!items?.raw.startsWith('[')) throw new CliError('the answer of the service is not a list of events');
  return { envelope: body.filter((one) => one !== items), items: elements(items.raw) };
}

/** A link's path on the service; a link to anywhere else is not followed, since the key would travel along. */
export function linkOf({ envelope }: EventPage, rel: string): string | undefined {
  const href = links(envelope.find(({ name }) => name === 'links')?.raw).find((link) => link.rel === rel)?.href;
  if (typeof href !== 'string') return undefined;
  if (!/^\/(?!\/)[\x21-\x7e]*$/.test(href)) throw new CliError(`the service sent a \`${rel}\` link that is not a path`);
  return href;
}

const links = (raw: string | undefined): { rel?: unknown; href?: unknown }[] =>
  raw?.startsWith('[') ? (JSON.parse(raw) as { rel?: unknown; href?: unknown }[]) : [];

const selfLink = ({ name, raw }: Member): Member => ({
  name,
  raw: JSON.stringify(links(raw).filter(({ rel }) => rel === 'self')),
});
