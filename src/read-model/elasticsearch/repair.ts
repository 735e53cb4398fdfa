import type { Position, StoredDocument, Write } from '../document.js';
import type { KindName } from '../kinds.js';
import { isExpired, isKeyed, locationOf, pointerOf, type Target } from './apply.js';
import { type Action, bulk, type Found, getAll } from './bulk.js';
import { isMissing } from './client.js';
import { bodyOf, isAt, type Location, locationIn, placeIn, pointerBodyOf, type Stored } from './document.js';

/** Stores a document whatever is there; its index must be. */
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

/** Where the pointer led before: nothing would lead there any more. */
async function elsewhere(target: Target, write: Write, pointer: Location, location: Location): Promise<Action[]> {
  const [old] = await getAll(target.es, [pointer]);
  const before = old && locationOf(target, { ...write, place: placeIn(old.stored) });
  return before && before.index !== location.index ? [{ ...before, op: 'remove' }] : [];
}

/** Removes a copy, and the pointer to it. No effect where something else is stored there by now. */
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

/** A month that was dropped has none of its documents. */
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
