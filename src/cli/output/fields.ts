import { describe, type ErrorBody } from '../../client/errors.js';
import type { GivenOption } from '../args/argv.js';

/** A failure as it is shown: what happened, and further lines below it. */
interface Told {
  readonly message: string;
  readonly lines: readonly string[];
}

/** The options of the command line, by which the fields of a request are named. */
type Given = readonly Pick<GivenOption, 'name' | 'value'>[];

/** What a refusal says, once, in the words of the command line: no JSON pointers. */
export function tellRefusal(body: ErrorBody, given: Given = []): Told {
  const fields = body.details?.fields;
  if (!Array.isArray(fields) || fields.length === 0) return { message: describe(body), lines: [] };
  const lines = fields.map(({ pointer, reason }) => `${fieldName(pointer, given)}: ${reason}`);
  const [only = ''] = lines;
  return lines.length === 1
    ? { message: describe({ ...body, message: only }), lines: [] }
    : { message: describe({ ...body, message: `${lines.length} fields are not valid` }), lines };
}

/** The option that a field came from, with its value; otherwise the field's path, such as `bindings[1].permissions[0]`. */
export function fieldName(pointer: string, given: Given): string {
  const [, ...raw] = pointer.replace(/^(\?|path:)/, '/').split('/');
  const parts = raw.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const path = parts.reduce((text, part) => (/^\d+$/.test(part) ? `${text}[${part}]` : `${text}.${part}`), '').slice(1);
  for (let count = parts.length; count > 0; count--) {
    const option = `--${parts.slice(0, count).map(kebab).join('-')}`;
    const values = given
      .filter(({ name }) => name === option || `${name}s` === option)
      .map(({ value }) => String(value));
    const next = parts[count] ?? '';
    const value =
      values.length > 1 ? (values[Number(next)] ?? values.find((one) => one.startsWith(`${next}=`))) : values[0];
    if (value !== undefined)
      return `${option.replace(/s$/, given.some(({ name }) => name === option) ? 's' : '')} ${value}`;
  }
  const set = given.find(({ name, value }) => name === '--set' && String(value).split(/[+-]?=/)[0] === path);
  if (set) return `--set ${set.value}`;
  return path === '' ? 'the body' : path;
}

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
