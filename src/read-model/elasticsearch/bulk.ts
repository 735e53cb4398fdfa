import { type Elasticsearch, ElasticsearchFault } from '../../platform/elasticsearch.js';
import type { Location, Stored } from './document.js';
import type { Names } from './names.js';
import { SmileDocuments, type SmileObject } from './smile.js';

/** The version of a document that a write requires. */
export interface Version {
  readonly seqNo: number;
  readonly primaryTerm: number;
}

export interface Action extends Location {
  /** `create` keeps an existing document; `put` replaces and `remove` removes it, in any version or only in `over`. */
  readonly op: 'create' | 'put' | 'remove';
  readonly over?: Version;
  /** Builds the document when it is sent, so that actions under way hold none. */
  readonly document?: () => SmileObject;
}

/** `conflict`: the stored document is not the required one. `absent`: there was nothing to remove. */
export type Result = 'done' | 'conflict' | 'absent';

/** Elasticsearch accepts 100 MB in a request, but works best with a few. */
const MOST_BYTES = 8 * 1024 * 1024;

const OPS = { create: 'create', put: 'index', remove: 'delete' } as const;

/**
 * Runs the actions in order and returns the result of each. Rejects if one fails for another reason than a conflict: then any
 * of them may have taken effect.
 */
export async function bulk(es: Elasticsearch, names: Names, actions: readonly Action[]): Promise<Result[]> {
  const results: Result[] = [];
  const index = onlyIndex(actions);
  const path = index === undefined ? '/_bulk' : `/${names.writer(index)}/_bulk`;
  for (let start = 0; start < actions.length; ) {
    const documents = SmileDocuments.empty();
    const end = addFrom(documents, names, actions, start, index);
    const items = await send(es, path, documents.bytes);
    // Not after a failure: parts of the request may still be in transmission.
    documents.reuse();
    for (const [at, action] of actions.slice(start, end).entries()) results.push(resultOf(items[at], action));
    start = end;
  }
  return results;
}

/** The index of all actions, if it is the same, as it is nearly always: then the actions need not name it. */
function onlyIndex(actions: readonly Action[]): string | undefined {
  const first = actions[0]?.index;
  return actions.every(({ index }) => index === first) ? first : undefined;
}

/** Adds actions until there are enough for one request; returns the index of the next one. */
function addFrom(
  documents: SmileDocuments,
  names: Names,
  actions: readonly Action[],
  start: number,
  only: string | undefined,
): number {
  let end = start;
  for (; end < actions.length && (end === start || documents.length < MOST_BYTES); end += 1) {
    const { op, index, id, over, document } = actions[end] as Action;
    const version = over && { if_seq_no: over.seqNo, if_primary_term: over.primaryTerm };
    const where = only === undefined ? { _index: names.writer(index), _id: id } : { _id: id };
    documents.add({ [OPS[op]]: version ? { ...where, ...version } : where });
    if (document) documents.add(document());
  }
  return end;
}

interface Item {
  readonly status: number;
  readonly error?: { readonly type: string };
}

async function send(es: Elasticsearch, path: string, smile: Buffer): Promise<readonly (Item | undefined)[]> {
  const filter_path = 'items.*.status,items.*.error.type';
  const { items = [] } = await es.request<{ items?: readonly Readonly<Record<string, Item>>[] }>('POST', path, {
    smile,
    query: { require_alias: true, filter_path },
  });
  return items.map((item) => Object.values(item)[0]);
}

function resultOf(item: Item | undefined, { op, index, id }: Action): Result {
  const { status, error } = item ?? { status: 0, error: { type: 'no_response' } };
  if (status === 200 || status === 201) return 'done';
  if (status === 409) return 'conflict';
  if (status === 404 && op === 'remove' && !error) return 'absent';
  const type = error?.type ?? 'unknown';
  throw new ElasticsearchFault(`Elasticsearch answered ${status} ${type} to ${op} ${id} in ${index}`, status, type);
}

/** A document as it was last written. */
export interface Found {
  readonly location: Location;
  readonly version: Version;
  readonly stored: Stored;
}

interface Got {
  readonly _index: string;
  readonly _id: string;
  readonly _seq_no?: number;
  readonly _primary_term?: number;
  readonly _source?: Stored;
  readonly error?: { readonly type: string };
}

/** Each document as last written, searchable or not; undefined if it does not exist. */
export async function getAll(
  es: Elasticsearch,
  locations: readonly Location[],
  part: 'whole' | 'without source' = 'whole',
  maxBytes?: number,
): Promise<(Found | undefined)[]> {
  if (locations.length === 0) return [];
  const body = { docs: locations.map(({ index, id }) => ({ _index: index, _id: id })) };
  const query = part === 'whole' ? {} : { _source_excludes: 'source' };
  const { docs } = await es.request<{ docs: readonly Got[] }>('POST', '/_mget', { body, query, maxBytes });
  return docs.map(foundIn);
}

function foundIn({ _index, _id, _seq_no = -1, _primary_term = 0, _source, error }: Got): Found | undefined {
  if (error) {
    const status = error.type === 'index_not_found_exception' ? 404 : 503;
    throw new ElasticsearchFault(
      `Elasticsearch answered ${error.type} to the reading of ${_index}`,
      status,
      error.type,
    );
  }
  if (!_source) return undefined;
  const version = { seqNo: _seq_no, primaryTerm: _primary_term };
  return { location: { index: _index, id: _id }, version, stored: _source };
}
