/**
 * One text for all texts of the same JSON value: members sorted by name (UTF-16 code units), no white space, numbers in
 * their shortest form; a number kept digit for digit stays so. After RFC 8785.
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
