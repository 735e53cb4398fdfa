import type { Letter } from './dead-letter-box.js';
import type { RootAction, SecurityAction, SecurityEvents } from './security-events.js';

/** So many places of letters are named. */
const MOST_PLACES = 20;

/**
 * What the root key does with these letters, for the record: all places for the journal, its own for each organization.
 * A record that cannot be read does not tell reliably whose it is; what its bytes or its key name counts if such an
 * organization exists.
 */
export function lettersTouched(
  security: SecurityEvents,
  action: SecurityAction,
  letters: readonly Letter[],
  values: ReadonlyMap<Letter, Uint8Array>,
): RootAction {
  const named = Map.groupBy(letters, (letter) => orgOf(letter, values.get(letter)));
  const existing = security.existing([...named.keys()].flatMap((org) => org ?? []));
  const touched = [...named].flatMap(([org, some]) =>
    org !== undefined && existing.has(org) ? [[org, placesOf(some)] as const] : [],
  );
  return { action, data: placesOf(letters), touched: new Map(touched) };
}

function placesOf(letters: readonly Letter[]) {
  return { letters: letters.length, places: letters.slice(0, MOST_PLACES).map(({ place }) => place) };
}

function orgOf({ key }: Letter, value: Uint8Array | undefined): string | undefined {
  try {
    const { context } = JSON.parse(Buffer.from(value ?? []).toString()) as { context?: { org?: unknown } };
    if (typeof context?.org === 'string') return context.org;
  } catch {
    // Damaged, or another schema: the key is left.
  }
  return key.split('/')[0];
}
