import { ControlError } from '../contract/errors.js';
import type { LogEntry, Position, Topic } from '../event-log/event-log.js';
import { turnOfTheLoop } from '../platform/waiting.js';

/** What is asked of the read model: which record an event came from, and what was sent with it. */
export interface IndexedEvents {
  get(
    kind: 'auditevent',
    org: string,
    id: string,
  ): Promise<{ readonly place: Position & { readonly topic: Topic } } | undefined>;
  scan(
    kind: 'auditevent',
    range: {
      readonly topic: Topic;
      readonly partition: number;
      readonly from: number;
      readonly to: number;
      readonly limit: number;
    },
  ): Promise<readonly { readonly org: string; readonly id: string; readonly hash?: string }[]>;
}

/** An event about to be recorded. */
export interface Prepared {
  readonly id: string;
  readonly org: string;
  readonly entry: LogEntry;
}

/** An event as the read model has it. `hash`: of the body that came with its key. */
export interface Indexed {
  readonly place: Position;
  readonly hash?: string;
}

export async function indexedEvent(model: IndexedEvents, org: string, id: string): Promise<Indexed | undefined> {
  const place = (await model.get('auditevent', org, id))?.place;
  if (!place) return undefined;
  const range = { topic: place.topic, partition: place.partition, from: place.offset, to: place.offset + 1 };
  const stored = await model.scan('auditevent', { ...range, limit: 1 });
  const first = stored.find((one) => one.org === org && one.id === id);
  return first && { place, ...(first.hash !== undefined && { hash: first.hash }) };
}

/** So many are looked up at once. */
const AT_ONCE = 20;

/**
 * Throws `idempotency_conflict`, and names the items, if the key of one stands for another event, in the read model or
 * among the items themselves. What is recorded but not indexed yet is not seen.
 */
export async function refuseConflicts(model: IndexedEvents, items: readonly Prepared[]): Promise<void> {
  const first = new Map<string, string>();
  const conflicts: number[] = [];
  const keyed: { readonly one: Prepared; readonly at: number; readonly hash: string }[] = [];
  for (const [at, one] of items.entries()) {
    const { hash } = one.entry.headers;
    if (hash === undefined) continue;
    const known = first.get(one.id);
    if (known === undefined) keyed.push({ one, at, hash });
    else if (known !== hash) conflicts.push(at);
    first.set(one.id, known ?? hash);
  }
  for (let from = 0; from < keyed.length; from += AT_ONCE) {
    const look = async ({ one: { org, id }, at, hash }: (typeof keyed)[number]) => {
      const found = await indexedEvent(model, org, id);
      if (found && found.hash !== hash) conflicts.push(at);
    };
    await Promise.all(keyed.slice(from, from + AT_ONCE).map(look));
    await turnOfTheLoop();
  }
  if (conflicts.length > 0) throw keysTaken(conflicts, 'nothing was recorded');
}

/** `else`: what became of the other items. */
export function keysTaken(items: readonly number[], others: string): ControlError {
  const fields = items
    .toSorted((one, other) => one - other)
    .map((at) => ({
      pointer: `/${at}`,
      reason: 'has an idempotency key that stands for another event; use a new key',
    }));
  const message = `the idempotency keys of ${fields.length} items stand for other events; ${others}; details.fields names the items`;
  return new ControlError('idempotency_conflict', message, { fields });
}
