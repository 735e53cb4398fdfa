import { difference, patched } from './merge-patch.js';
import { isList, isMap, isSame, jsonOf, type Value } from './value.js';

const LONGEST_SHOWN = 100;

/** An edit on top of what somebody else made of the same resource. */
export interface Rebased {
  readonly value: Value;
  /** What the other changed, a line each, for the one who edits to look at. */
  readonly theirs: readonly string[];
}

/**
 * Puts the edit that made `mine` of `base` on top of `latest`. Where both changed the same member, mine stands; in a list
 * that both changed is what either added, and is not what either removed.
 */
export function rebase(base: Value, mine: Value, latest: Value): Rebased {
  const value = patched(latest, withLists(difference(base, mine) ?? new Map(), base, latest));
  const theirs = leaves(difference(base, latest) ?? new Map()).map(({ path, now }) => {
    const isMineToo = !isSame(at(value, path), at(latest, path));
    return `${path.join('.')}: ${now}${isMineToo ? ' (you changed it, too)' : ''}`;
  });
  return { value, theirs };
}

/** The patch with the changes of each list in place of the list. */
function withLists(patch: Value, base: Value | undefined, latest: Value | undefined): Value {
  if (isMap(patch)) {
    return new Map([...patch].map(([name, one]) => [name, withLists(one, at(base, [name]), at(latest, [name]))]));
  }
  if (!isList(patch) || !isList(base) || !isList(latest) || isSame(base, latest)) return patch;
  const has = (list: readonly Value[], one: Value) => list.some((other) => isSame(one, other));
  const left = latest.filter((one) => has(patch, one) || !has(base, one));
  return [...left, ...patch.filter((one) => !has(base, one) && !has(latest, one))];
}

interface Leaf {
  readonly path: readonly string[];
  readonly now: string;
}

function leaves(patch: Value, path: readonly string[] = []): Leaf[] {
  if (isMap(patch)) return [...patch].flatMap(([name, one]) => leaves(one, [...path, name]));
  const text = jsonOf(patch);
  const shown = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;
  return [{ path, now: text === 'null' ? 'removed' : shown }];
}

const at = (value: Value | undefined, path: readonly string[]): Value | undefined =>
  path.reduce<Value | undefined>((inside, name) => (isMap(inside) ? inside.get(name) : undefined), value);
