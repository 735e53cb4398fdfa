import { type ApiClient, path } from './api-client.js';
import { type EventPage, listPages } from './event-list.js';
import { CliError } from './failures.js';
import { elements, members } from './json-text.js';
import type { Kind } from './kinds.js';
import type { ListSink } from './output/document.js';

/** Few calls for a long list, and yet a page of the largest resources fits into memory. */
const PAGE_SIZE = 200;

export interface ResourceListRun {
  client: ApiClient;
  org: string;
  kind: Kind;
  /** Of those that it matches only: the body of a query, as JSON. */
  query?: string;
  sink: ListSink;
  limit: number;
  /** Whether nobody wants more. */
  stopped(): boolean;
}

/** Lists the resources of a kind page by page, so that a list of any length takes the memory of one page. */
export async function listResources({ client, org, kind, query, ...run }: ResourceListRun): Promise<void> {
  const all = path`/org/${org}/${kind.segment}`;
  const start = `${all}${query === undefined ? '' : '/-query'}?limit=${Math.min(run.limit, PAGE_SIZE)}`;
  await listPages({ ...run, start, read: (at) => readPage(client, at, query) });
}

async function readPage(client: ApiClient, at: string, query: string | undefined): Promise<EventPage> {
  const asked = query === undefined ? ({ method: 'GET' } as const) : ({ method: 'POST', body: query } as const);
  const text = await client.call({ ...asked, path: at, on: 'api', retry: 'safe' });
  const body = text.trimStart().startsWith('{') ? members(text) : [];
  const items = body.find(({ name }) => name === 'items');
  if (!items?.raw.startsWith('[')) throw new CliError('the answer of the service is not a list');
  return { envelope: body.filter((one) => one !== items), items: elements(items.raw) };
}
