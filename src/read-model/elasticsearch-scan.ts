import type { Offsets, Topic } from '../event-log/event-log.js';
import type { StoredDocument } from './document.js';
import { isKeyed, locationOf, pointerOf, type Target } from './elasticsearch-apply.js';
import { getAll } from './elasticsearch-bulk.js';
import {
  isAt,
  type Location,
  locationIn,
  partitionName,
  placeIn,
  type Stored,
  storedDocument,
} from './elasticsearch-document.js';
import { type Found, type Hit, type Query, searchIn } from './elasticsearch-query.js';
import type { KindName } from './kinds.js';
import type { ScanRange } from './read-model.js';

/** The documents of a range of the log, whatever reads would make of them. */
export async function scanRange(target: Target, kind: KindName, range: ScanRange): Promise<StoredDocument[]> {
  const { from, to, after, limit } = range;
  checkLimit(limit);
  const found = await searchAll(target, kind, {
    query: {
      bool: { filter: [{ term: { partition: partitionName(range) } }, { range: { offset: { gte: from, lt: to } } }] },
    },
    // Copies of one document stand in different indices.
    sort: [{ offset: 'asc' }, { ordinal: 'asc' }, { _index: 'asc' }, { id: 'asc' }],
    size: limit,
    ...(after && {
      search_after: [after.place.offset, after.place.ordinal, locationIn(after.location).index, after.id],
    }),
  });
  return storedIn(target, kind, found.hits);
}

/** Documents from beyond the ends of the partitions, or of a partition that is not there, of the topics that are named. */
export async function findStrays(
  target: Target,
  kind: KindName,
  ends: Readonly<Partial<Record<Topic, Offsets>>>,
  limit: number,
): Promise<StoredDocument[]> {
  checkLimit(limit);
  const should = Object.entries(ends).flatMap(([topic, partitions]) => beyond(topic as Topic, partitions));
  if (should.length === 0) return [];
  const query = { bool: { should, minimum_should_match: 1 } };
  return storedIn(target, kind, (await searchAll(target, kind, { query, size: limit, sort: ['_doc'] })).hits);
}

function beyond(topic: Topic, ends: Offsets): Query[] {
  const known = Object.entries(ends).map(([partition, end]) => ({
    partition: partitionName({ topic, partition: Number(partition) }),
    end,
  }));
  const unknown = {
    bool: {
      filter: [{ prefix: { partition: `${topic}/` } }],
      must_not: [{ terms: { partition: known.map(({ partition }) => partition) } }],
    },
  };
  const behind = known.map(({ partition, end }) => ({
    bool: { filter: [{ term: { partition } }, { range: { offset: { gte: end } } }] },
  }));
  return [unknown, ...behind];
}

function checkLimit(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) throw new Error('1 to 1000 documents at once');
}

async function searchAll({ es, names, generation, require }: Target, kind: KindName, body: object): Promise<Found> {
  const found = await searchIn(es, names.documents(generation, kind), body);
  if (found.shards === 0) await require();
  return found;
}

/** Reads look for a document in one place: where its identifier leads, by itself or through a pointer. */
async function storedIn(target: Target, kind: KindName, hits: readonly Hit[]): Promise<StoredDocument[]> {
  const all = hits.map(({ _index, _id, _source }) => {
    const stored = _source as Stored;
    return { location: { index: _index, id: _id }, stored, pointer: pointerFor(target, kind, stored) };
  });
  const pointers = await getAll(
    target.es,
    all.flatMap(({ pointer }) => pointer ?? []),
  );
  return all.map(({ location, stored, pointer }) => {
    const pointed = pointer && pointers.shift();
    const isMissed = pointer !== undefined && !(pointed && isAt(pointed.stored, placeIn(stored)));
    const home = locationOf(target, { kind, org: stored.org, id: stored.id, place: placeIn(stored) });
    return storedDocument(stored, location, isMissed || !isSame(home, location));
  });
}

function pointerFor(target: Target, kind: KindName, { org, id }: Stored): Location | undefined {
  return isKeyed({ kind, id }) ? pointerOf(target, { org, id }) : undefined;
}

function isSame(one: Location, other: Location): boolean {
  return one.index === other.index && one.id === other.id;
}
