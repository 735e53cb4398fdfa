import type { ApiCall, ApiClient, Retry } from '../client/api-client.js';
import { ClientError } from '../client/errors.js';
import type { Link, Page } from '../client/pages.js';
import { elements, type Member, members } from '../contract/json-text.js';

/** One page of a list, as the texts that the service sent: every digit is shown. */
export interface RawPage extends Page<string> {
  /** All members but the items. */
  readonly envelope: readonly Member[];
}

export interface PageOptions {
  /** Which address the list is on; default the audit API. */
  on?: ApiCall['on'] | undefined;
  /** The body of a query, as JSON: then only what it matches is listed. */
  query?: string | undefined;
  retry?: Retry;
}

export async function readPage(client: ApiClient, at: string, options: PageOptions = {}): Promise<RawPage> {
  const { retry = 'safe', on = 'audit', query } = options;
  const request = query === undefined ? ({ method: 'GET' } as const) : ({ method: 'POST', body: query } as const);
  const text = await client.call({ ...request, path: at, on, retry });
  const body = text.trimStart().startsWith('{') ? members(text) : [];
  const items = body.find(({ name }) => name === 'items');
  if (!items?.raw.startsWith('[')) throw new ClientError('the answer of the service is not a list');
  const envelope = body.filter((one) => one !== items);
  const links = linksOf(envelope.find(({ name }) => name === 'links')?.raw);
  return { envelope, items: elements(items.raw), links };
}

/** The links of an envelope. */
export const linksOf = (raw: string | undefined): Link[] => (raw?.startsWith('[') ? (JSON.parse(raw) as Link[]) : []);
