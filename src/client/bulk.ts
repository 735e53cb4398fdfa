import type { ApiClient, Retry } from './api-client.js';
import { ApiError, ClientError, type ErrorBody } from './errors.js';

/** What became of one item: the identifier of its event, or why there is none. */
export type BulkOutcome =
  | { readonly status: number; readonly id: string; readonly repeated?: true }
  | { readonly error: ErrorBody };

interface BulkResult {
  readonly items?: readonly {
    readonly status: number;
    readonly id?: string;
    readonly repeated?: true;
    readonly error?: ErrorBody;
  }[];
}

/**
 * Publishes items, each a line `{"idempotencyKey", "event"}` with its line feed, and returns one outcome an item, in order.
 * If the service refuses the whole request for what is in it, the request is halved until the item is found.
 */
export async function publishBulk(
  client: ApiClient,
  at: string,
  lines: readonly Uint8Array[],
  retry: Retry,
): Promise<BulkOutcome[]> {
  const body = Buffer.concat(lines);
  try {
    const call = { method: 'POST', path: at, on: 'audit', contentType: 'application/x-ndjson' } as const;
    return readOutcomes(await client.call({ ...call, body, retry }), lines.length);
  } catch (error) {
    if (!(error instanceof ApiError) || !isAboutTheItems(error.body)) throw error;
    if (lines.length === 1) return [{ error: error.body }];
    const half = Math.ceil(lines.length / 2);
    const first = await publishBulk(client, at, lines.slice(0, half), retry);
    return [...first, ...(await publishBulk(client, at, lines.slice(half), retry))];
  }
}

/** A 400 without a code is not from the service, and one about the path is about none of the items. */
function isAboutTheItems({ status, code, details }: ErrorBody): boolean {
  if (status !== 400) return status === 413;
  return code !== undefined && !details?.fields?.some(({ pointer }) => pointer.startsWith('path:'));
}

function readOutcomes(text: string, count: number): BulkOutcome[] {
  const { items } = (JSON.parse(text) ?? {}) as BulkResult;
  if (!Array.isArray(items) || items.length !== count) {
    throw new ClientError('the answer of the service does not fit the request: its number of results differs');
  }
  return items.map(({ id, status, repeated, error }) =>
    error ? { error: { ...error, status } } : { status, id: String(id), ...(repeated && { repeated }) },
  );
}
