import { type Query } from '../../client/pages.js';
import { principalLink } from '../args/links.js';
import { moment } from '../args/moments.js';
import { UsageError } from '../output/failures.js';
import { FIELDS, type Field, type Row } from './row.js';

/** What the service calls each key of a filter. `svc audit list` has an option for each. */
const PARAMETERS = {
  action: 'actionType',
  result: 'resultStatus',
  resource: 'resourceName',
  id: 'resourceId',
  type: 'resourceType',
  context: 'contextName',
  email: 'subjectEmail',
  publisher: 'publisher',
  request: 'requestId',
  location: 'location',
  gvc: 'gvcAlias',
  pod: 'podId',
  since: 'fromEvent',
  until: 'toEvent',
} as const satisfies Record<Field | 'since' | 'until', string>;

type Key = keyof typeof PARAMETERS;
export const KEYS = Object.keys(PARAMETERS) as Key[];

/** One part of a filter: `key:value`, or a word that may be anywhere in an event. */
type Term = { readonly key: Key; readonly value: string } | { readonly key?: never; readonly value: string };

/** The parts of a typed filter: `result:denied type:"a b" web`. A key without a value is still being typed: it is left out. */
export function parseFilter(text: string): Term[] {
  const found = text.matchAll(/(?:([a-z]+):)?(?:"([^"]*)"?|(\S*))|\S/g);
  return [...found].flatMap(([whole, key = '', quoted, bare = '']): Term[] => {
    const value = quoted ?? bare;
    if (isKey(key)) return value === '' ? [] : [{ key, value }];
    const word = quoted !== undefined && key === '' ? quoted : whole;
    return word === '' ? [] : [{ value: word }];
  });
}

const isKey = (text: string): text is Key => Object.hasOwn(PARAMETERS, text);
const isField = (key: Key): key is Field => (FIELDS as readonly string[]).includes(key);

/** Whether an event that is loaded matches all parts: parts of its fields, whatever their case. */
export function matcher(terms: readonly Term[]): (row: Row) => boolean {
  const tests = terms.map(({ key, value }): ((row: Row) => boolean) => {
    const wanted = value.toLowerCase();
    if (key === undefined) return ({ text }) => text.includes(wanted);
    if (isField(key)) return ({ fields }) => fields[key].toLowerCase().includes(wanted);
    const bound = timeOf(key, value);
    if (bound === undefined) return () => true;
    return ({ time }) => (key === 'since' ? Date.parse(time) >= bound : Date.parse(time) < bound);
  });
  return (row) => tests.every((test) => test(row));
}

/** Undefined for a time that is still being typed. */
function timeOf(key: 'since' | 'until', value: string): number | undefined {
  try {
    return Date.parse(moment(key, value));
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

/**
 * What the service is asked for: each `key:value`, which it compares exactly. A value that differs from a loaded one in case
 * only is taken as that one. Throws `UsageError` for a value that the service could not understand.
 */
export function queryOf(terms: readonly Term[], org: string, loaded: readonly Row[]): Query {
  const query: Record<string, string> = {};
  for (const { key, value } of terms) {
    if (key !== undefined) query[PARAMETERS[key]] = exactly(key, value, org, loaded);
  }
  return query;
}

function exactly(key: Key, value: string, org: string, loaded: readonly Row[]): string {
  if (!isField(key)) return moment(`${key}:`, value);
  const known = loaded.find(({ fields }) => fields[key].toLowerCase() === value.toLowerCase())?.fields[key];
  if (known !== undefined) return known;
  return key === 'publisher' ? principalLink(org, `${key}:`, value) : value;
}

const NAMES: ReadonlyMap<string, string> = new Map(Object.entries(PARAMETERS).map(([key, name]) => [name, key]));

/** A query in the words of a filter. */
export function describeQuery(query: Query): string {
  return Object.entries(query)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([name, value]) => `${NAMES.get(name) ?? name}:${/[\s"]/.test(value) ? JSON.stringify(value) : value}`)
    .join(' ');
}
