import { elements, members } from '../../client/json-text.js';

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

export const isList = (value: Value | undefined): value is readonly Value[] => Array.isArray(value);

/** Whether both are the same JSON: the sequence of members means nothing, numbers are the same when their digits are. */
export function isSame(a: Value | undefined, b: Value | undefined): boolean {
  if (isMap(a) && isMap(b)) return a.size === b.size && [...a].every(([name, one]) => isSame(one, b.get(name)));
  if (isList(a) && isList(b)) return a.length === b.length && a.every((one, at) => isSame(one, b[at]));
  return a === b;
}
