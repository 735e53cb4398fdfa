import { elements, members } from '../../contract/json-text.js';

/** One thing that a change altered. The values are JSON texts, so that numbers are shown as they were sent. */
export interface Change {
  /** Its path in the resource: `description`, `tags.team`, `spec.ports[0].number`. */
  readonly what: string;
  /** It is one of the elements of the list that `what` names. */
  readonly element?: true;
  /** Undefined if it was added. */
  readonly before: string | undefined;
  /** Undefined if it was removed. */
  readonly after: string | undefined;
}

export interface Difference {
  readonly changes: readonly Change[];
  /** Those that are worth a word on one line. */
  readonly notable: readonly Change[];
}

/** The service sets these with every change; the event itself says as much. */
const ASSIGNED = new Set(['id', 'version', 'created', 'lastModified', 'issued']);

/** What an audit event changed in its resource; empty for an event that does not say. */
export function differenceOf(event: string): Difference {
  const { action, resource } = Object.fromEntries(partsOf(event));
  const sides = partsOf(partsOf(action).get('data'));
  const [before, after] = [partsOf(sides.get('before')), partsOf(sides.get('after'))];
  const { name, type } = Object.fromEntries(partsOf(resource));
  // The log of a principal holds the changes of its keys, which only their identifiers distinguish.
  const isKey = type === '"key"';
  const changes = namesOf(before, after)
    .filter((part) => !ASSIGNED.has(part) || (isKey && part === 'id'))
    .flatMap((part) => compare(stepTo(isKey ? 'key' : '', part), before.get(part), after.get(part)));
  if (before.size > 0 && after.size > 0) return { changes, notable: changes };
  // For a created or deleted resource, skip empty members and those that repeat its name.
  const dull = new Set(['{}', '[]', name]);
  const isNotable = (change: Change) => !dull.has(change.before ?? change.after) && change.what !== 'origin';
  return { changes, notable: changes.filter(isNotable) };
}

function compare(what: string, before: string | undefined, after: string | undefined): Change[] {
  if (before === after) return [];
  const sides = [before, after].filter((side) => side !== undefined);
  const whole = [{ what, before, after }];
  if (sides.length === 1 && ['{}', '[]'].includes(sides[0] ?? '')) return whole;
  if (sides.every(isObject)) {
    const [parts, others] = [partsOf(before), partsOf(after)];
    return namesOf(parts, others).flatMap((name) => compare(stepTo(what, name), parts.get(name), others.get(name)));
  }
  if (sides.every(isList)) return compareLists(what, before, after);
  if (sides.length === 1 || !sides.some((side) => isObject(side) || isList(side))) return whole;
  return [...compare(what, before, undefined), ...compare(what, undefined, after)];
}

/** Scalars come and go. Objects that changed are compared in their order; the rest of the longer list came or went. */
function compareLists(what: string, before = '[]', after = '[]'): Change[] {
  const gone = unmatched(elements(before), elements(after));
  const come = unmatched(elements(after), elements(before));
  // The same elements in another order.
  if (gone.length + come.length === 0) return [{ what, before, after }];
  if (![...gone, ...come].some(({ raw }) => isObject(raw) || isList(raw))) {
    return [
      ...gone.map(({ raw }) => ({ what, element: true as const, before: raw, after: undefined })),
      ...come.map(({ raw }) => ({ what, element: true as const, before: undefined, after: raw })),
    ];
  }
  return Array.from({ length: Math.max(gone.length, come.length) }).flatMap((_, place) => {
    const [was, is] = [gone[place], come[place]];
    return compare(`${what}[${(is ?? was)?.index}]`, was?.raw, is?.raw);
  });
}

interface Element {
  readonly index: number;
  readonly raw: string;
}

/** The elements that have no equal in the other list, each of which is the equal of one only. */
function unmatched(list: readonly string[], others: readonly string[]): Element[] {
  const left = [...others];
  return list.flatMap((raw, index) => {
    const equal = left.indexOf(raw);
    if (equal < 0) return [{ raw, index }];
    left.splice(equal, 1);
    return [];
  });
}

const isObject = (raw: string): boolean => raw.startsWith('{');
const isList = (raw: string): boolean => raw.startsWith('[');

/** The members of an object by their names; none of anything else. */
const partsOf = (raw: string | undefined): ReadonlyMap<string, string> =>
  new Map(raw !== undefined && isObject(raw) ? members(raw).map((part) => [part.name, part.raw]) : []);

const namesOf = (...objects: readonly ReadonlyMap<string, string>[]): string[] => [
  ...new Set(objects.flatMap((parts) => [...parts.keys()])),
];

/** A name that could be read as a path of several is quoted. */
function stepTo(what: string, name: string): string {
  if (!/^[\w/:@-]+$/.test(name)) return `${what}[${JSON.stringify(name)}]`;
  return what === '' ? name : `${what}.${name}`;
}
