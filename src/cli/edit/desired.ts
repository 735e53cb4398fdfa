import type { Member } from '../../contract/json-text.js';
import { isMap, isSame, NULL, parseValue, type Value } from './merge.js';

/** Tags that the service itself sets: files neither set nor remove them. */
const BUILTIN_TAG = 'svc/';

/**
 * The merge patch (RFC 7396) that makes a resource what a file declares; undefined if it is that already. What the file
 * leaves out stays as it is, except for tags: they become exactly those of the file.
 */
export function changeTo(stored: Value, desired: readonly Member[]): Value | undefined {
  return patchTo(stored, new Map(desired.map(({ name, raw }) => [name, parseValue(raw)])));
}

function patchTo(stored: Value | undefined, desired: Value, isExact = false): Value | undefined {
  if (!isMap(desired)) return isSameSet(stored, desired) ? undefined : desired;
  const before = isMap(stored) ? stored : new Map<string, Value>();
  const patch = new Map<string, Value>();
  for (const [name, value] of desired) {
    const was = before.get(name);
    if (value === NULL) {
      if (was !== undefined && was !== NULL) patch.set(name, NULL);
      continue;
    }
    const change = patchTo(was, value, name === 'tags');
    if (change !== undefined) patch.set(name, change);
  }
  const gone = isExact ? [...before.keys()].filter((name) => !desired.has(name) && !name.startsWith(BUILTIN_TAG)) : [];
  for (const name of gone) patch.set(name, NULL);
  return patch.size > 0 || !isMap(stored) ? patch : undefined;
}

/** Whether both are the same JSON; of lists of texts, such as links, the sequence means nothing. */
function isSameSet(one: Value | undefined, other: Value): boolean {
  const [a, b] = [one, other].map((value) => (isTexts(value) ? [...value].sort() : value));
  return isSame(a, b);
}

const isTexts = (value: Value | undefined): value is readonly string[] =>
  Array.isArray(value) && value.every((element) => typeof element === 'string');
