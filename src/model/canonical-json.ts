/**
 * One text for all texts of the same JSON value: members sorted by name (UTF-16 code units), no white space, numbers in
 * their shortest form; a number kept digit for digit stays so. After RFC 8785.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object' || JSON.isRawJSON(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}

/** Whether both are the same JSON value. What is absent is the same as null. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return one === other || canonicalJson(one ?? null) === canonicalJson(other ?? null);
}
