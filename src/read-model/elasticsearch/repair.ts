import type { Offsets, Topic } from '../../event-log/event-log.js';
import { isMissing } from '../../platform/elasticsearch.js';
import { type Position, partitionName, type StoredDocument, type Write } from '../document.js';
import type { KindName } from '../kinds.js';
import { type ScanRange, type StrayPage, type StrayRange } from '../read-model.js';
import { checkLimit } from '../search.js';
import { isExpired, isKeyed, locationOf, pointerOf, type Target } from './apply.js';
import { type Action, bulk, type Found, getAll } from './bulk.js';
import {
  bodyOf,
  isAt,
  type Location,
  locationIn,
  placeIn,
  pointerBodyOf,
  type Stored,
  storedDocument,
} from './document.js';
import { type Found as FoundHits, type Hit, type Query, searchIn } from './query.js';

/** Copies of one document are in different indices. */
const STORED_ORDER = [{ offset: 'asc' }, { ordinal: 'asc' }, { _index: 'asc' }, { id: 'asc' }];

/** The documents of a range of the log, whether or not reads find them. */
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

/** Documents of these topics from positions that the log does not have. */
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
  // A page ends where the one before did only if an offset beyond JavaScript's numbers is rounded.
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

async function searchAll({ es, names, generation, require }: Target, kind: KindName, body: object): Promise<FoundHits> {
  const found = await searchIn(es, names.documents(generation, kind), body);
  if (found.shards === 0) await require();
  return found;
}

/** Reads look for a document in one location, which its identifier determines, by itself or through a pointer. */
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

/** Stores a document whatever is there; its index must exist. */
export async function overwriteDocument(target: Target, write: Write): Promise<void> {
  const { es, names } = target;
  const location = locationOf(target, write);
  if (write.op === 'create' && isExpired(target, write)) return removeAt(target, location, write, write.place);
  const actions: Action[] = [{ ...location, op: 'put', document: () => bodyOf(write) }];
  if (write.op === 'create' && isKeyed(write)) {
    const pointer = pointerOf(target, write);
    actions.unshift({ ...pointer, op: 'put', document: () => pointerBodyOf(write) });
    actions.push(...(await elsewhere(target, write, pointer, location)));
  }
  await bulk(es, names, actions);
}

/** Removes the document that the pointer led to before: nothing would lead to it any more. */
async function elsewhere(target: Target, write: Write, pointer: Location, location: Location): Promise<Action[]> {
  const [old] = await getAll(target.es, [pointer]);
  const before = old && locationOf(target, { ...write, place: placeIn(old.stored) });
  return before && before.index !== location.index ? [{ ...before, op: 'remove' }] : [];
}

/** Removes a copy, and the pointer to it. No effect if something else is stored there by now. */
export async function removeDocument(target: Target, kind: KindName, document: StoredDocument): Promise<void> {
  const { org, id, place, location } = document;
  await removeAt(target, locationIn(location), { kind, org, id }, place);
}

async function removeAt(
  target: Target,
  location: Location,
  named: { readonly kind: KindName; readonly org: string; readonly id: string },
  place: Position,
): Promise<void> {
  const { es, names } = target;
  const wanted = isKeyed(named) ? [pointerOf(target, named), location] : [location];
  const found = await getAll(es, wanted, 'without source').catch((error) => goneWith(target, error));
  const actions = found.flatMap((one, at) =>
    one && isThis(one.stored, named, place) ? [removal(one, wanted[at] as Location)] : [],
  );
  await bulk(es, names, actions);
}

/** A dropped month has no documents. */
async function goneWith(target: Target, error: unknown): Promise<undefined[]> {
  if (!isMissing(error)) throw error;
  await target.require();
  return [];
}

function removal({ version }: Found, location: Location): Action {
  return { ...location, op: 'remove', over: version };
}

function isThis(stored: Stored, { org, id }: { readonly org: string; readonly id: string }, place: Position): boolean {
  return stored.org === org && stored.id === id && isAt(stored, place);
}
