import type { Point } from '../document.js';
import type { KindName } from '../kinds.js';
import { type Lane, nearestLane } from '../received.js';
import { limitsOf } from '../retention.js';
import type { Direction, SearchQuery } from '../search.js';
import { ElasticsearchFault } from './client.js';
import { foundIn, type Hit, matching, type Query, type SearchAnswer, WHOLE } from './query.js';
import type { Reader } from './reader.js';

/** Where a document is in the order received, and in the index. */
export interface Spot {
  readonly partition: string;
  readonly offset: number;
  readonly ordinal: number;
  readonly time: number;
  readonly index: string;
  readonly id: string;
}

/** The documents of one partition. */
export interface PartitionLane extends Lane {
  readonly partition: string;
  /** The first point of the range that is still to be searched, and the first behind it. */
  from: Point;
  to: Point;
  readonly ahead: Spot[];
  /** Whether the whole range is searched. */
  isWhole: boolean;
}

/** Merges lanes by their records' time, and fetches more of a lane when it is empty. */
export class Walk {
  private readonly matches: Query;
  private readonly indices: string;

  constructor(
    private readonly reader: Reader,
    kind: KindName,
    query: Pick<SearchQuery, 'org' | 'filters'>,
    private readonly generation: number,
    private readonly direction: Direction,
  ) {
    this.matches = matching(kind, query, limitsOf(reader.retention, kind, query.org));
    this.indices = reader.catalog.names.documents(generation, kind);
  }

  /** At most `count` documents, the nearest first. */
  async take(lanes: readonly PartitionLane[], count: number): Promise<Spot[]> {
    const taken: Spot[] = [];
    const chunk = Math.min(count, Math.ceil((2 * count) / Math.max(1, lanes.length)) + 8);
    while (taken.length < count) {
      const waiting = lanes.filter(({ ahead, isWhole }) => ahead.length === 0 && !isWhole);
      if (waiting.length > 0) await this.readOn(waiting, chunk);
      const next = nearestLane(lanes, this.direction)?.ahead.shift();
      if (next) taken.push(next);
      else if (waiting.length === 0) break;
    }
    return taken;
  }

  private async readOn(lanes: readonly PartitionLane[], chunk: number): Promise<void> {
    const { es, catalog } = this.reader;
    const header = JSON.stringify({ index: this.indices, ...WHOLE });
    const lines = lanes.map((lane) => `${header}\n${JSON.stringify(this.bodyOf(lane, chunk))}\n`).join('');
    type Answer = {
      readonly responses: readonly (SearchAnswer & { readonly status: number; readonly error?: { type: string } })[];
    };
    const { responses } = await es.request<Answer>('POST', '/_msearch', { lines, query: { filter_path: PARTS } });
    for (const [at, lane] of lanes.entries()) {
      const answer = responses[at];
      if (!answer || answer.error) throw faultOf(answer);
      const { hits, shards } = foundIn(answer);
      if (shards === 0) await catalog.requireLive(this.generation);
      this.extend(lane, hits, chunk);
    }
  }

  private bodyOf({ partition, from, to }: PartitionLane, size: number): object {
    const word = this.direction === 'ascending' ? 'asc' : 'desc';
    return {
      query: { bool: { filter: [this.matches, { term: { partition } }, ...between(from, to)] } },
      sort: [{ offset: word }, { ordinal: word }],
      size,
      track_total_hits: false,
      _source: false,
      stored_fields: '_none_',
      docvalue_fields: ['id', 'time'],
    };
  }

  private extend(lane: PartitionLane, hits: readonly Hit[], chunk: number): void {
    for (const hit of hits) lane.ahead.push(spotIn(lane.partition, hit));
    lane.isWhole = hits.length < chunk;
    const last = lane.ahead.at(-1);
    if (!last) return;
    if (this.direction === 'ascending') lane.from = [last.offset, last.ordinal + 1];
    else lane.to = [last.offset, last.ordinal];
  }
}

/** The only parts of the response that are read. */
const PARTS = ['status', 'error.type', 'timed_out', '_shards', 'hits.hits._index', 'hits.hits.sort', 'hits.hits.fields']
  .map((part) => `responses.${part}`)
  .join(',');

function faultOf(
  answer: { readonly status: number; readonly error?: { type: string } } | undefined,
): ElasticsearchFault {
  const { status = 503, error: { type } = { type: 'no_response' } } = answer ?? {};
  return new ElasticsearchFault(`Elasticsearch answered ${status} ${type} to one of several searches`, status, type);
}

function between([fromOffset, fromOrdinal]: Point, [toOffset, toOrdinal]: Point): Query[] {
  const offset = { gte: fromOffset, ...(toOrdinal > 0 ? { lte: toOffset } : { lt: toOffset }) };
  const cut: Query[] = [];
  if (fromOrdinal > 0) cut.push(partOf(fromOffset, { lt: fromOrdinal }));
  if (toOrdinal > 0) cut.push(partOf(toOffset, { gte: toOrdinal }));
  return [{ range: { offset } }, ...(cut.length > 0 ? [{ bool: { must_not: cut } }] : [])];
}

/** Some documents of one record. */
function partOf(offset: number, ordinal: object): Query {
  return { bool: { filter: [{ term: { offset } }, { range: { ordinal } }] } };
}

function spotIn(partition: string, { _index, sort = [], fields }: Hit): Spot {
  const [offset, ordinal] = sort.map(Number) as [number, number];
  return { partition, offset, ordinal, time: Number(fields?.time?.[0]), index: _index, id: String(fields?.id?.[0]) };
}
