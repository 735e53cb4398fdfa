import { type Elasticsearch, ElasticsearchFault } from '../../platform/elasticsearch.js';
import { hasTime } from '../../platform/ids.js';
import { comparePositions, type OutcomeCode, type Position, precedes, type Write } from '../document.js';
import type { KindName } from '../kinds.js';
import { hasExpired, type Limits } from '../retention.js';
import { type Action, bulk, type Found, getAll, type Version } from './bulk.js';
import { bodyOf, documentId, homeOf, isAt, type Location, placeIn, pointerBodyOf, type Stored } from './document.js';
import { isMonthly, type Names } from './names.js';
import type { SmileObject } from './smile.js';

type Create = Write & { readonly op: 'create' };
type Change = Exclude<Write, Create>;

/** The generation that writes are applied to, and the limits. */
export interface Target {
  readonly es: Elasticsearch;
  readonly names: Names;
  readonly generation: number;
  limits(kind: KindName, org: string): Limits;
  /** Throws `GenerationLost` if the generation does not exist. */
  require(): Promise<unknown>;
}

/** After this many rounds of conflicts the whole batch is retried. */
const MOST_ROUNDS = 20;

type Named = Pick<Write, 'kind' | 'org' | 'id'>;

export function locationOf({ names, generation }: Target, write: Named & Pick<Write, 'place'>): Location {
  const { kind, org, id } = write;
  const index = isMonthly(kind) ? names.month(generation, homeOf(write)) : names.kind(generation, kind);
  return { index, id: documentId(org, id) };
}

/** Whether a pointer is needed to find the document. */
export function isKeyed({ kind, id }: Omit<Named, 'org'>): boolean {
  return isMonthly(kind) && !hasTime(id);
}

export function pointerOf({ names, generation }: Target, { org, id }: Omit<Named, 'kind'>): Location {
  return { index: names.keys(generation), id: documentId(org, id) };
}

/** Whether a write is of a document that has expired already. */
export function isExpired(target: Target, write: Create): boolean {
  return hasExpired(write.kind, target.limits(write.kind, write.org), write.fields, write.place.time);
}

/** Applies checked writes whose indices exist. Rejects if any outcome is unknown. */
export async function applyWrites(target: Target, writes: readonly Write[]): Promise<OutcomeCode[]> {
  const codes: OutcomeCode[] = writes.map(() => 'applied');
  const entries = writes.map((write, at) => ({ write, at }));
  // An identifier is either created or changed, so neither has to wait for the other.
  await bothDone(
    applyCreates(target, entries.filter(isCreate), codes),
    applyChanges(target, entries.filter(isChange), codes),
  );
  return codes;
}

/** Rejects only when neither is under way any more. */
async function bothDone(...works: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(works);
  await Promise.all(works);
}

/** A write, and the index of its code. */
interface Entry<W extends Write> {
  readonly write: W;
  readonly at: number;
}

const isCreate = (entry: Entry<Write>): entry is Entry<Create> => entry.write.op === 'create';
const isChange = (entry: Entry<Write>): entry is Entry<Change> => entry.write.op !== 'create';

/**
 * A document without a month in its identifier has a pointer, which is created first: it alone decides which of several
 * creations is the first. If a process dies in between, the next delivery of the same creation finds its pointer, and
 * creates the document.
 */
async function applyCreates(target: Target, entries: readonly Entry<Create>[], codes: OutcomeCode[]): Promise<void> {
  const kept = entries.filter(({ write }) => !isExpired(target, write));
  const pointers = kept
    .filter(({ write }) => isKeyed(write))
    .map((entry) => ({
      ...entry,
      location: pointerOf(target, entry.write),
      document: () => pointerBodyOf(entry.write),
    }));
  const displaced: Location[] = [];
  const judgePointer: Judge = (write, found) => {
    const code = judge(target, write, found);
    if (code === 'replace') displaced.push(...displacedBy(target, write, found));
    return code;
  };
  await createAll(target, pointers, judgePointer, codes);
  const documents = kept
    .filter(({ at }) => codes[at] === 'applied')
    .map((entry) => ({ ...entry, location: locationOf(target, entry.write), document: () => bodyOf(entry.write) }));
  await createAll(target, documents, (write, found) => judgeDocument(target, write, found), codes);
  await bulk(
    target.es,
    target.names,
    displaced.map((location) => ({ ...location, op: 'remove' })),
  );
}

/** The document of a later record, if that of the first is in another month. An expired one is left to the sweep. */
function displacedBy(target: Target, write: Create, found: Stored): Location[] {
  const { kind, org, place } = write;
  if (hasExpired(kind, target.limits(kind, org), found.fields, found.time)) return [];
  const old = locationOf(target, { ...write, place: placeIn(found) });
  return precedes(place, placeIn(found)) && old.index !== locationOf(target, write).index ? [old] : [];
}

type Judge = (write: Create, found: Stored) => OutcomeCode | 'replace';

function judge(target: Target, { kind, org, place, hash }: Create, found: Stored): OutcomeCode | 'replace' {
  if (isAt(found, place)) return 'applied';
  if (hasExpired(kind, target.limits(kind, org), found.fields, found.time)) return 'replace';
  if (precedes(place, placeIn(found))) return 'replace';
  return found.hash === hash ? 'duplicate' : 'conflict';
}

/** A document at the pointer's target with another position has expired or is stray. */
function judgeDocument(target: Target, write: Create, found: Stored): OutcomeCode | 'replace' {
  if (!isKeyed(write)) return judge(target, write, found);
  return isAt(found, write.place) ? 'applied' : 'replace';
}

interface Creation extends Entry<Create> {
  readonly location: Location;
  readonly document: () => SmileObject;
  readonly over?: Version;
}

/** Creates in order; `judge` decides about a document that exists already. */
async function createAll(
  { es, names }: Target,
  creations: readonly Creation[],
  judge: Judge,
  codes: OutcomeCode[],
): Promise<void> {
  let open = creations;
  for (let round = 0; open.length > 0; round += 1) {
    checkRound(round);
    const results = await bulk(es, names, open.map(actionOf));
    const conflicts = open.filter((_creation, at) => results[at] === 'conflict');
    open = await resolve(es, conflicts, judge, codes);
  }
}

function actionOf({ location, document, over }: Creation): Action {
  return over ? { ...location, op: 'put', over, document } : { ...location, op: 'create', document };
}

/** Notes the decided codes, and returns the creations to retry. */
async function resolve(
  es: Elasticsearch,
  conflicts: readonly Creation[],
  judge: Judge,
  codes: OutcomeCode[],
): Promise<Creation[]> {
  const found = await getAll(
    es,
    conflicts.map(({ location }) => location),
    'without source',
  );
  const again: Creation[] = [];
  const replaced = new Set<string>();
  for (const [index, { over: _over, ...creation }] of conflicts.entries()) {
    const { write, at, location } = creation;
    const stands = found[index];
    const key = `${location.index}/${location.id}`;
    // After a replacement of the same identifier this creation meets the replacement.
    const code = stands && !replaced.has(key) ? judge(write, stands.stored) : undefined;
    if (code === 'replace' && stands) {
      replaced.add(key);
      again.push({ ...creation, over: stands.version });
    } else if (code === undefined) again.push(creation);
    else if (code !== 'replace') codes[at] = code;
  }
  return again;
}

/**
 * The newest position wins. Compared here, not by Elasticsearch's external versions, which could not be set back to repair a
 * document.
 */
async function applyChanges(target: Target, entries: readonly Entry<Change>[], codes: OutcomeCode[]): Promise<void> {
  const { es, names } = target;
  const keyOf = ({ write }: Entry<Change>) => `${write.kind}/${documentId(write.org, write.id)}`;
  let open = [...Map.groupBy(entries, keyOf).values()].map((changes) => {
    return { changes, location: locationOf(target, (changes[0] as Entry<Change>).write) };
  });
  for (let round = 0; open.length > 0; round += 1) {
    checkRound(round);
    const found = await getAll(
      es,
      open.map(({ location }) => location),
      'without source',
    );
    const written = open.flatMap((one, at) => {
      const action = newest(one.changes, one.location, found[at], codes);
      return action ? [{ ...one, action }] : [];
    });
    const results = await bulk(
      es,
      names,
      written.map(({ action }) => action),
    );
    open = written.filter((_one, at) => results[at] === 'conflict');
  }
}

/** The effect of one document's writes, in order; undefined if nothing is to be written. */
function newest(
  changes: readonly Entry<Change>[],
  location: Location,
  found: Found | undefined,
  codes: OutcomeCode[],
): Action | undefined {
  let place: Position | undefined = found && placeIn(found.stored);
  let winner: Change | undefined;
  for (const { write, at } of changes) {
    const order = place ? comparePositions(write.place, place) : 1;
    codes[at] = order < 0 ? 'stale' : 'applied';
    if (order > 0) [place, winner] = [write.place, write];
  }
  if (!winner) return undefined;
  const document = bodyOf.bind(undefined, winner);
  return found ? { ...location, op: 'put', over: found.version, document } : { ...location, op: 'create', document };
}

function checkRound(round: number): void {
  if (round < MOST_ROUNDS) return;
  throw new ElasticsearchFault('other processes keep changing the same documents', 409, 'documents_contended');
}
