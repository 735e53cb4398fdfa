import type { ApiClient, Retry } from './api-client.js';
import { ClientError } from './errors.js';

/** Large enough that a long list is few calls, small enough that a page of large items fits into memory. */
export const PAGE_SIZE = 200;

export interface Link {
  readonly rel?: unknown;
  readonly href?: unknown;
}

/** One page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly links?: readonly Link[];
}

type Linked = Pick<Page<unknown>, 'links'>;

export async function readPage<Item>(client: ApiClient, at: string, retry: Retry = 'safe'): Promise<Page<Item>> {
  const page = JSON.parse(await client.call({ method: 'GET', path: at, on: 'audit', retry }));
  if (Array.isArray(page?.items)) return page;
  throw new ClientError('the answer of the service is not a list');
}

/** The path of the next page, if there is one. Throws for a `next` link that would repeat the page. */
export function nextOf(page: Linked, at: string): string | undefined {
  const next = linkOf(page, 'next');
  if (next === at) throw new ClientError('the service sent a `next` link that leads back to the same page');
  return next;
}

/** A link's path on the service; a link to anywhere else is not followed, since the key would travel along. */
export function linkOf({ links }: Linked, rel: string): string | undefined {
  const href = links?.find((link) => link.rel === rel)?.href;
  if (typeof href !== 'string') return undefined;
  if (/^\/(?!\/)[\x21-\x7e]*$/.test(href)) return href;
  throw new ClientError(`the service sent a \`${rel}\` link that is not a path`);
}

/** Where a list in the order received goes on after a page. */
export function positionAfter(page: Linked): string {
  const resume = linkOf(page, 'resume');
  if (resume === undefined) throw new ClientError('the service sent no `resume` link: the list cannot be followed');
  return resume;
}

export type Query = Readonly<Record<string, string | undefined>>;

/** `?name=value&...` of those that are given. */
export function queryText(query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `?${given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}`;
}
