import { classFields } from '../expiry-class.js';
import { KIND_NAMES, KINDS, KINDS_VERSION, type Kind, type KindName } from '../kinds.js';
import { isMonthly } from './names.js';

/** Changes when the layout here or that of the documents does, or the kinds do; then a new generation must be filled. */
export const MAPPING_VERSION = `1.${KINDS_VERSION}`;

/** The version of the kinds that a read model of this layout was made with; undefined for another layout. */
export function kindsIn(version: string | undefined): number | undefined {
  const [, kinds] = /^1\.(\d+)$/.exec(version ?? '') ?? [];
  return kinds === undefined ? undefined : Number(kinds);
}

/** From what a generation was made; kept with the index of its progress. */
export interface Identity {
  readonly logId: string;
  readonly version: string;
}

export interface IndexSettings {
  /** Primary shards of each month. */
  readonly shards: number;
  readonly replicas: number;
}

/** The deepest that a page by number reaches, and one more to know whether there is more. */
const RESULT_WINDOW = 10_000 + 1_000 + 1;

/**
 * Longer strings are kept, but not found: a term of more than 32,766 bytes would be refused together with its document,
 * and so many characters never are longer.
 */
export const LONGEST_TERM = 8_191;

const KEYWORD = { type: 'keyword', doc_values: false, ignore_above: LONGEST_TERM };
const SORTED_KEYWORD = { type: 'keyword', ignore_above: LONGEST_TERM };

/**
 * What an index of documents is created with. Only what is looked for is indexed, and only what is sorted or counted by
 * has doc values; the rest is kept and never looked at, so that no document can be refused for what is in it.
 *
 * Elasticsearch refreshes nothing by itself: what is searchable is told to others, and so must be decided by who tells.
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
    return [field, field === kind.sort || field === kind.countBy ? SORTED_KEYWORD : KEYWORD];
  });
  return { fields: { properties: Object.fromEntries(fields) } };
}

/** Pointers are read by their identifier; only a sweep looks for those of what has expired. */
export function keysIndex({ replicas }: IndexSettings): object {
  const fields = Object.fromEntries(KIND_NAMES.flatMap(classFields).map((field) => [field, KEYWORD]));
  return {
    settings: { number_of_shards: 1, number_of_replicas: replicas, refresh_interval: '-1' },
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
