import { isMap, isSame, type Value } from './value.js';

const NULL = 'null';

/**
 * The merge patch (RFC 7396) that makes the one value of the other; undefined where there is nothing to change. A merge
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
