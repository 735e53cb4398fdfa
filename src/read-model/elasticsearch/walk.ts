import type { KindName } from '../kinds.js';
import type { SearchQuery } from '../search.js';
import { ElasticsearchFault } from './client.js';
import { foundIn, type Hit, matching, type Query, type SearchAnswer, WHOLE } from './query.js';
import { limitsOf, type Reader } from './search.js';
import type { Bound } from './state.js';

/** Where a document stands in the log and in the index. */
export interface Spot {
  readonly partition: string;
  readonly offset: number;
  readonly ordinal: number;
  readonly time: number;
  readonly index: string;
  readonly id: string;
}

/** The documents of one partition that are still to come, nearest first. */
export interface Lane {
  readonly partition: string;
  /** First place that may be looked at, and the first that may not. */
  from: Bound;
  to: Bound;
  readonly ahead: Spot[];
  /** Whether what is ahead is all there is. */
  isWhole: boolean;
}

type Direction = 'forward' | 'backward';

/** Merges lanes by the times of their records, each lane in its own order, and reads on in a lane when it is needed. */
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
    this.matches = matching(kind, query, limitsOf(reader, kind, query.org));
    this.indices = reader.catalog.names.documents(generation, kind);
  }

  /** At most so many, the nearest first. */
  async take(lanes: readonly Lane[], count: number): Promise<Spot[]> {
    const taken: Spot[] = [];
    const chunk = Math.min(count, Math.ceil((2 * count) / Math.max(1, lanes.length)) + 8);
    while (taken.length < count) {
      const waiting = lanes.filter(({ ahead, isWhole }) => ahead.length === 0 && !isWhole);
      if (waiting.length > 0) await this.readOn(waiting, chunk);
      const next = this.nearest(lanes)?.ahead.shift();
      if (next) taken.push(next);
      else if (waiting.length === 0) break;
    }
    return taken;
  }

  /** Forward the earliest, and of equal ones the first lane; backward the latest, and the last lane. */
  private nearest(lanes: readonly Lane[]): Lane | undefined {
    let nearest: Lane | undefined;
    for (const lane of lanes) {
      const [spot, best] = [lane.ahead[0], nearest?.ahead[0]];
      if (!spot) continue;
      const isNearer = this.direction === 'forward' ? spot.time < (best?.time ?? 0) : spot.time >= (best?.time ?? 0);
      if (!best || isNearer) nearest = lane;
    }
    return nearest;
  }

  private async readOn(lanes: readonly Lane[], chunk: number): Promise<void> {
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

  private bodyOf({ partition, from, to }: Lane, size: number): object {
    const word = this.direction === 'forward' ? 'asc' : 'desc';
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

  private extend(lane: Lane, hits: readonly Hit[], chunk: number): void {
    for (const hit of hits) lane.ahead.push(spotIn(lane.partition, hit));
    lane.isWhole = hits.length < chunk;
    const last = lane.ahead.at(-1);
    if (!last) return;
    if (this.direction === 'forward') lane.from = [last.offset, last.ordinal + 1];
    else lane.to = [last.offset, last.ordinal];
  }
}

/** Of the answers nothing else is looked at. */
const PARTS = ['status', 'error.type', 'timed_out', '_shards', 'hits.hits._index', 'hits.hits.sort', 'hits.hits.fields']
  .map((part) => `responses.${part}`)
  .join(',');

function faultOf(
  answer: { readonly status: number; readonly error?: { type: string } } | undefined,
): ElasticsearchFault {
  const { status = 503, error: { type } = { type: 'no_answer' } } = answer ?? {};
  return new ElasticsearchFault(`Elasticsearch answered ${status} ${type} to one of several searches`, status, type);
}

function between([fromOffset, fromOrdinal]: Bound, [toOffset, toOrdinal]: Bound): Query[] {
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
