import type { Fault } from './refusal.js';

export type Json = Readonly<Record<string, unknown>>;

/** JSON Merge Patch (RFC 7396): members replace members, objects merge, `null` removes. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

const OPERATORS = ['$replace', '$drop', '$append'];

/**
 * A list after its operators, in this sequence: `$replace` it, `$drop` elements, `$append` those it does not have. Two
 * clients who append at once both succeed. Elements are the same whose `keyOf` is. Undefined for what holds no operators;
 * such a patch replaces the list.
 */
export function patchedList(
  list: readonly string[],
  patch: unknown,
  pointer: string,
  keyOf: (element: string) => string = (element) => element,
): { readonly list: readonly string[]; readonly faults: readonly Fault[] } | undefined {
  if (!isObject(patch)) return undefined;
  const faults = Object.entries(patch).flatMap(([name, value]) => operatorFaults(name, value, `${pointer}/${name}`));
  if (faults.length > 0) return { list, faults };
  const { $replace = list, $drop = [], $append = [] } = patch as Record<string, readonly string[]>;
  const dropped = new Set($drop.map(keyOf));
  const left = $replace.filter((element) => !dropped.has(keyOf(element)));
  const kept = new Set(left.map(keyOf));
  return { list: [...left, ...$append.filter((element) => !kept.has(keyOf(element)))], faults };
}

function operatorFaults(name: string, value: unknown, pointer: string): Fault[] {
  if (!OPERATORS.includes(name)) return [{ pointer, reason: `is not one of ${OPERATORS.join(', ')}` }];
  const isList = Array.isArray(value) && value.every((element) => typeof element === 'string');
  return isList ? [] : [{ pointer, reason: 'must be an array of strings' }];
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * One text for all texts of the same JSON value: members sorted by name (UTF-16 code units), no white space, numbers in
 * their shortest form. After RFC 8785. A number that a double cannot hold (raw JSON) has as many texts as spellings.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object' || JSON.isRawJSON(value)) return JSON.stringify(value);
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) text += `${text && ','}${canonicalJson(item)}`;
    return `[${text}]`;
  }
  for (const name of Object.keys(value).sort()) {
    text += `${text && ','}${JSON.stringify(name)}:${canonicalJson((value as Record<string, unknown>)[name])}`;
  }
  return `{${text}}`;
}

/** Whether both are the same JSON value. What is absent is the same as null. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return one === other || canonicalJson(one ?? null) === canonicalJson(other ?? null);
}
