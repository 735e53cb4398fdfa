import { type Elasticsearch, ElasticsearchFault } from '../../platform/elasticsearch.js';
import { coalesced } from '../../platform/waiting.js';
import type { Names } from './names.js';
import type { Manifest, StateName } from './state.js';

/**
 * A document that is written to each index of documents before any other, and never again. So an index that lacks it was
 * lost, and one of its name is another: deleted and created again, or emptied. No search finds it: it has no fields.
 */
export const MARK = 'mark';

/** What a generation had at one moment. */
export interface Examined {
  readonly generation: number;
  /** Undefined if it was lost, and the generation with it. */
  readonly manifest: Manifest | undefined;
  /** Those of the examined indices, and the index of its progress, that lack what is always there. */
  readonly lost: ReadonlySet<string>;
}

const STATES: readonly StateName[] = ['manifest', 'progress', 'searchable'];

interface Got {
  readonly _index: string;
  readonly found?: boolean;
  readonly _source?: { readonly value: Manifest };
  readonly error?: { readonly type: string };
}

/**
 * Examines a generation, and these indices for their marks, in one request. `progress` is the index of its progress, or the
 * alias of the live one. Rejects with status 404 if it leads to none, and with 503 if something cannot be examined: only
 * what Elasticsearch says is not there was lost.
 */
export async function examine(
  es: Elasticsearch,
  names: Names,
  progress: string,
  indices: readonly string[],
): Promise<Examined> {
  const states = STATES.map((_id) => ({ _index: progress, _id, _source: _id === 'manifest' }));
  const body = { docs: [...states, ...indices.map((_index) => ({ _index, _id: MARK, _source: false }))] };
  const { docs } = await es.request<{ docs: readonly Got[] }>('POST', '/_mget', { body });
  const [first] = docs;
  if (!first || isMissing(first)) throw new ElasticsearchFault('Elasticsearch has no read model', 404, 'no_generation');
  const generation = names.generationIn(first._index);
  if (generation === undefined) throw new ElasticsearchFault(`${progress} is of no generation`, 503, 'no_generation');
  return {
    generation,
    manifest: first._source?.value,
    lost: new Set(docs.filter((got) => isMissing(got) || !got.found).map(({ _index }) => _index)),
  };
}

function isMissing({ _index, error }: Got): boolean {
  if (!error) return false;
  if (error.type === 'index_not_found_exception') return true;
  throw new ElasticsearchFault(`Elasticsearch answered ${error.type} to the reading of ${_index}`, 503, error.type);
}

/** Examines the live generation for all who ask before an examination begins, in one request. */
export class LiveExaminer {
  private wanted = new Set<string>();
  private readonly run = coalesced(() => {
    const indices = [...this.wanted];
    this.wanted = new Set();
    return examine(this.es, this.names, this.names.liveProgress, indices);
  });

  constructor(
    private readonly es: Elasticsearch,
    private readonly names: Names,
  ) {}

  /** Begins after the call; `lost` may name other indices too. */
  examine(indices: readonly string[]): Promise<Examined> {
    for (const index of indices) this.wanted.add(index);
    return this.run();
  }
}
