import { elements, type Member, members } from '../contract/json-text.js';
import { type ApiCall, type ApiClient, type Retry } from './api-client.js';
import { ClientError } from './errors.js';

/** Large enough that a long list is few calls, small enough that a page of large items fits into memory. */
export const PAGE_SIZE = 200;

/** One page of a list. */
export interface Page {
  /** All members but the items. */
  envelope: Member[];
  items: string[];
}

export interface PageOptions {
  /** Which address the list is on; default the audit API. */
  on?: ApiCall['on'] | undefined;
  /** The body of a query, as JSON: then only what it matches is listed. */
  query?: string | undefined;
  retry?: Retry;
}

export async function readPage(client: ApiClient, at: string, options: PageOptions = {}): Promise<Page> {
  const { retry = 'safe', on = 'audit', query } = options;
  const request = query === undefined ? ({ method: 'GET' } as const) : ({ method: 'POST', body: query } as const);
  const text = await client.call({ ...request, path: at, on, retry });
  const body = text.trimStart().startsWith('{') ? members(text) : [];
  const items = body.find(({ name }) => name === 'items');
  if (!items?.raw.startsWith('[')) throw new ClientError('the answer of the service is not a list');
  return { envelope: body.filter((one) => one !== items), items: elements(items.raw) };
}

/** The path of the next page, if there is one. Throws for a `next` link that would repeat the page. */
export function nextOf(page: Page, at: string): string | undefined {
  const next = linkOf(page, 'next');
  if (next === at) throw new ClientError('the service sent a `next` link that leads back to the same page');
  return next;
}

/** A link's path on the service; a link to anywhere else is not followed, since the key would travel along. */
export function linkOf({ envelope }: Page, rel: string): string | undefined {
  const href = linksOf(envelope.find(({ name }) => name === 'links')?.raw).find((link) => link.rel === rel)?.href;
  if (typeof href !== 'string') return undefined;
  if (!/^\/(?!\/)[\x21-\x7e]*$/.test(href))
    throw new ClientError(`the service sent a \`${rel}\` link that is not a path`);
  return href;
}

/** The links of an envelope. */
export const linksOf = (raw: string | undefined): { rel?: unknown; href?: unknown }[] =>
  raw?.startsWith('[') ? (JSON.parse(raw) as { rel?: unknown; href?: unknown }[]) : [];

export type Query = Readonly<Record<string, string | undefined>>;

/** `?name=value&...` of those that are given. */
export function queryText(query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `?${given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}`;
}
