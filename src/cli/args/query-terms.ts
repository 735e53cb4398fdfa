import { UsageError } from '../output/failures.js';

/** One comparison of a query, as the service takes it. */
interface Term {
  op?: string;
  property?: string;
  tag?: string;
  rel?: string;
  value?: string;
}

/** Which terms of a query must hold. */
export const MATCHES = ['all', 'none', 'any'] as const;

/** What the options of a query say, each named as it was given. */
export interface QueryOptions {
  readonly match: (typeof MATCHES)[number] | undefined;
  readonly properties: Given<readonly string[]>;
  readonly tags: Given<readonly string[]>;
  readonly relations: Given<readonly string[]>;
}

interface Given<Value> {
  readonly option: string;
  readonly value: Value;
}

/** What selects resources, as the service takes it. Throws `UsageError` for an option that cannot be understood. */
export function querySpec({ match = 'all', properties, tags, relations }: QueryOptions): {
  match: string;
  terms: readonly Term[];
} {
  return {
    match,
    terms: [
      ...properties.value.map((text) => propertyTerm(properties.option, text)),
      ...tags.value.map((text) => tagTerm(tags.option, text)),
      ...relations.value.map((text) => relationTerm(relations.option, text)),
    ],
  };
}

/**
 * `key=value`, and with other operators `key!=value`, `key>=value`, `key<=value`, `key>value`, `key<value`, `key~value`,
 * `key` (is there) and `!key` (is not). Of all properties only a request header of a domain could have such a mark in its name.
 */
function propertyTerm(option: string, text: string): Term {
  const [, key, op, value] = /^([^=!<>~]+)(=|!=|>=|<=|>|<|~)(.*)$/s.exec(text) ?? [];
  if (key !== undefined && op !== undefined) return { ...compared(key), op, value: value ?? '' };
  const [, not, name] = /^(!?)([^=!<>~]+)$/.exec(text) ?? [];
  if (name === undefined) throw new UsageError(`${option} is key=value, not \`${text}\``);
  return { ...compared(name), op: not ? '!exists' : 'exists' };
}

/** `tags.<key>` is a tag whatever its key is; a path ends at each dot. */
const compared = (key: string): Term => (/^tags\../.test(key) ? { tag: key.slice('tags.'.length) } : { property: key });

/** A tag's key may hold any mark but the equals sign, which ends it: here `key!=value` is the tag `key!`. */
function tagTerm(option: string, text: string): Term {
  const equals = text.indexOf('=');
  if (equals < 1) throw new UsageError(`${option} is key=value, not \`${text}\``);
  return { tag: text.slice(0, equals), op: '=', value: text.slice(equals + 1) };
}

/** `relation=ref` and `relation!=ref`. */
function relationTerm(option: string, text: string): Term {
  const [, rel, op, value] = /^([^=!]+)(!?=)(.+)$/s.exec(text) ?? [];
  if (rel === undefined || op === undefined || value === undefined) {
    throw new UsageError(`${option} is a relation and a reference such as group=devs, not \`${text}\``);
  }
  return { rel, op, value };
}
