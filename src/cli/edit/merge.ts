import { elements, members } from '../../contract/json-text.js';

const LONGEST_SHOWN = 100;

export const NULL = 'null';

/** A value of JSON. A scalar is its JSON text: so numbers keep every digit, and no member name is special. */
export type Value = ReadonlyMap<string, Value> | readonly Value[] | string;

/** The value of a valid JSON text. */
export function parseValue(json: string): Value {
  const text = json.trim();
  if (text.startsWith('{')) return new Map(members(text).map(({ name, raw }) => [name, parseValue(raw)]));
  if (text.startsWith('[')) return elements(text).map(parseValue);
  return text.startsWith('"') ? JSON.stringify(JSON.parse(text)) : text;
}

export function jsonOf(value: Value): string {
  if (typeof value === 'string') return value;
  if (isMap(value)) return `{${[...value].map(([name, one]) => `${JSON.stringify(name)}:${jsonOf(one)}`).join(',')}}`;
  return `[${value.map(jsonOf).join(',')}]`;
}

export const isMap = (value: Value | undefined): value is ReadonlyMap<string, Value> => value instanceof Map;

const isList = (value: Value | undefined): value is readonly Value[] => Array.isArray(value);

/** Whether both are the same JSON: the sequence of members means nothing, numbers are the same when their digits are. */
export function isSame(a: Value | undefined, b: Value | undefined): boolean {
  if (isMap(a) && isMap(b)) return a.size === b.size && [...a].every(([name, one]) => isSame(one, b.get(name)));
  if (isList(a) && isList(b)) return a.length === b.length && a.every((one, at) => isSame(one, b[at]));
  return a === b;
}

/**
 * The merge patch (RFC 7396) that turns `before` into `after`; undefined if they are the same. A merge
 * patch cannot set a member to null: null, there as here, is no member.
 */
export function difference(before: Value | undefined, after: Value): Value | undefined {
  if (!isMap(before) || !isMap(after)) return isSame(before, after) ? undefined : after;
  const patch = new Map<string, Value>();
  for (const [name, value] of before) if (!isAbsent(value) && isAbsent(after.get(name))) patch.set(name, NULL);
  for (const [name, value] of after) {
    if (isAbsent(value)) continue;
    const change = difference(before.get(name), value);
    if (change !== undefined) patch.set(name, change);
  }
  return patch.size > 0 ? patch : undefined;
}

/** The value with a merge patch applied. */
export function patched(target: Value | undefined, patch: Value): Value {
  if (!isMap(patch)) return patch;
  const merged = new Map(isMap(target) ? target : []);
  for (const [name, value] of patch) {
    if (value === NULL) merged.delete(name);
    else merged.set(name, patched(merged.get(name), value));
  }
  return merged;
}

const isAbsent = (value: Value | undefined): boolean => value === undefined || value === NULL;

/** An edit applied to a version that somebody else made. */
export interface Rebased {
  readonly value: Value;
  /** What the other person changed, a line each, for the user to review. */
  readonly theirs: readonly string[];
}

/**
 * Applies the edit from `base` to `mine` to `latest`. If both changed a member, mine wins; a list that both changed gets
 * the additions of both and loses the removals of both.
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
