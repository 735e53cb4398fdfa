import { isSameJson } from '../../model/canonical-json.js';

export interface Difference extends Readonly<Record<string, unknown>> {
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
}

/** What a change altered: the members that differ, before and after it; the whole of what was made or deleted. */
export function differenceOf(
  before: Readonly<Record<string, unknown>> | undefined,
  after: Readonly<Record<string, unknown>> | undefined,
): Difference {
  if (!before || !after) return { before: before ?? null, after: after ?? null };
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !isSameJson(before[name], after[name]),
  );
  const pick = (from: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(names.filter((name) => name in from).map((name) => [name, from[name]]));
  return { before: pick(before), after: pick(after) };
}
