import { LIMITS } from '../../contract/limits.js';
import { canServe, KIND_NAMES, KINDS, KINDS_VERSION, type Kind, type KindName } from '../kinds.js';
import { classFields } from '../retention.js';
import { isMonthly } from './names.js';

/** The layout of indices and of the documents that are not of a kind. */
const LAYOUT = 2;

/** Changes when the layout of indices or documents, or the kinds change; then a new generation must be filled. */
export const MAPPING_VERSION = `${LAYOUT}.${KINDS_VERSION}`;

/** The version of the kinds in the version of a read model; undefined for another layout. */
export function kindsIn(version: string | undefined): number | undefined {
  const [layout, kinds] = numbersOf(version);
  return layout === LAYOUT ? kinds : undefined;
}

function numbersOf(version: string | undefined): readonly (number | undefined)[] {
  return (
    /^(\d+)\.(\d+)$/
      .exec(version ?? '')
      ?.slice(1)
      .map(Number) ?? []
  );
}

/** What a generation was made from; stored with the index of its progress. */
export interface Identity {
  readonly logId: string;
  readonly version: string;
}

export interface IndexSettings {
  /** Primary shards of each month. */
  readonly shards: number;
  readonly replicas: number;
}

/** The last document of the deepest page by offset, and one more to know whether there is more. */
const RESULT_WINDOW = LIMITS.pagedEvents + LIMITS.page.most + 1;

/**
 * Longer strings are stored, but not indexed: Elasticsearch refuses a document with a term of more than 32,766 bytes, which
 * this many characters never exceed.
 */
export const LONGEST_TERM = 8_191;

const KEYWORD = { type: 'keyword', doc_values: false, ignore_above: LONGEST_TERM };
const VALUED_KEYWORD = { type: 'keyword', ignore_above: LONGEST_TERM };

/**
 * The settings and mappings of an index of documents. Only fields that queries use are indexed, and all that sort or
 * count, but for values that hardly ever repeat, have doc values. The rest is stored and never parsed, so no document is refused for its content.
 *
 * Elasticsearch does not refresh by itself, because the process that announces searchable documents controls the refresh.
 */
export function documentIndex(kind: KindName, { shards, replicas }: IndexSettings): object {
  return {
    settings: {
      number_of_shards: isMonthly(kind) ? shards : 1,
      number_of_replicas: replicas,
      refresh_interval: '-1',
      max_result_window: RESULT_WINDOW,
    },
    mappings: {
      dynamic: false,
      properties: { ...common, id: { type: 'keyword', index: false }, ...fieldsOf(KINDS[kind]) },
    },
  };
}

const common = {
  org: KEYWORD,
  partition: KEYWORD,
  offset: { type: 'long' },
  ordinal: { type: 'integer', index: false },
  time: { type: 'long' },
  deleted: { type: 'boolean', doc_values: false },
};

function fieldsOf(kind: Kind): object {
  const fields = Object.entries(kind.fields).map(([field, type]) => {
    if (type === 'time') return [field, { type: 'long' }];
    return [field, field !== kind.sort && kind.unique.includes(field) ? KEYWORD : VALUED_KEYWORD];
  });
  return { fields: { properties: Object.fromEntries(fields) } };
}

/**
 * One index has the pointers of all months, because a key does not say its month. So it has more shards than a month: a
 * shard of Lucene takes 2,147,483,519 documents.
 */
const KEY_SHARDS = 4;

/** Pointers are read by their identifier; only the sweep searches for those of expired documents. */
export function keysIndex({ shards, replicas }: IndexSettings): object {
  const fields = Object.fromEntries(KIND_NAMES.flatMap(classFields).map((field) => [field, KEYWORD]));
  return {
    settings: { number_of_shards: KEY_SHARDS * shards, number_of_replicas: replicas, refresh_interval: '-1' },
    mappings: {
      dynamic: false,
      properties: {
        org: KEYWORD,
        id: { type: 'keyword', index: false },
        time: { type: 'long' },
        fields: { properties: fields },
      },
    },
  };
}

export function progressIndex(identity: Identity, { replicas }: IndexSettings): object {
  return {
    settings: { number_of_shards: 1, number_of_replicas: replicas, refresh_interval: '-1' },
    mappings: { dynamic: false, _meta: identity },
  };
}

export function jobsIndex({ replicas }: Pick<IndexSettings, 'replicas'>): object {
  return {
    settings: { number_of_shards: 1, number_of_replicas: replicas, refresh_interval: '-1' },
    mappings: { dynamic: false },
  };
}

/** Whether a generation can serve: it was made from this log, by this version or by one that differs only in fields. */
export function isUsable(found: Partial<Identity>, own: Identity): boolean {
  return found.logId === own.logId && canServe(kindsIn(found.version) ?? 0);
}

/** Whether an earlier version of the program made it, from this log: its place may be taken without asking. */
export function isEarlier(found: Partial<Identity>, own: Identity): boolean {
  const [[layout = 0, kinds = 0], [ownLayout = 0, ownKinds = 0]] = [numbersOf(found.version), numbersOf(own.version)];
  return found.logId === own.logId && (layout === ownLayout ? kinds < ownKinds : layout < ownLayout);
}

/** Why a generation cannot serve, and what to do. */
export function unusable(indexPrefix: string, found: Partial<Identity>, own: Identity): string {
  const why =
    found.logId === own.logId
      ? `has the layout ${found.version} of a later version of the program, not ${own.version}; start that version, or`
      : `was filled from the log ${found.logId}, not from ${own.logId}; name another CONTROL_ELASTICSEARCH_INDEX_PREFIX, or`;
  return `Elasticsearch, indices ${indexPrefix}*: the read model ${why} have it replaced from this log with \`svc rebuild\``;
}
