import type { Offsets, Topic } from '../../event-log/event-log.js';
import type { StoredDocument } from '../document.js';
import type { KindName } from '../kinds.js';
import type { ScanRange, StrayPage, StrayRange } from '../read-model.js';
import { isKeyed, locationOf, pointerOf, type Target } from './apply.js';
import { getAll } from './bulk.js';
import { isAt, type Location, locationIn, partitionName, placeIn, type Stored, storedDocument } from './document.js';
import { type Found, type Hit, type Query, searchIn } from './query.js';

/** Copies of one document stand in different indices. */
const STORED_ORDER = [{ offset: 'asc' }, { ordinal: 'asc' }, { _index: 'asc' }, { id: 'asc' }];

/** The documents of a range of the log, whatever reads would make of them. */
export async function scanRange(target: Target, kind: KindName, range: ScanRange): Promise<StoredDocument[]> {
  const { from, to, after, limit } = range;
  checkLimit(limit);
  const found = await searchAll(target, kind, {
    query: {
      bool: { filter: [{ term: { partition: partitionName(range) } }, { range: { offset: { gte: from, lt: to } } }] },
    },
    sort: STORED_ORDER,
    size: limit,
    ...(after && {
      search_after: [after.place.offset, after.place.ordinal, locationIn(after.location).index, after.id],
    }),
  });
  return storedIn(target, kind, found.hits);
}

/** Of the topics that are named: documents from beyond the ends of partitions, from before them, or of none that is there. */
export async function findStrays(
  target: Target,
  kind: KindName,
  ends: Readonly<Partial<Record<Topic, Offsets>>>,
  { limit, after }: StrayRange,
): Promise<StrayPage> {
  checkLimit(limit);
  const should = Object.entries(ends).flatMap(([topic, partitions]) => beyond(topic as Topic, partitions));
  if (should.length === 0) return { documents: [] };
  const { hits } = await searchAll(target, kind, {
    query: { bool: { should, minimum_should_match: 1 } },
    sort: STORED_ORDER,
    size: limit,
    ...(after !== undefined && { search_after: JSON.parse(after) }),
  });
  const next = hits.length === limit ? JSON.stringify(hits.at(-1)?.sort) : undefined;
  const documents = await storedIn(target, kind, hits);
  // Only where an offset that nobody gave out is rounded would a page end where the one before did.
  return { documents, ...(next !== undefined && next !== after && { next }) };
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
  const before = { bool: { filter: [{ prefix: { partition: `${topic}/` } }, { range: { offset: { lt: 0 } } }] } };
  return [unknown, before, ...behind];
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
