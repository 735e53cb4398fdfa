import { elements, members } from '../../client/json-text.js';
import { wanted } from '../args/documents.js';
import type { Kind } from '../args/kinds.js';
import type { Distinct } from './distinct.js';
import { escapeLine } from './escape.js';

/** A Terraform block of type `svc_<kind>`; its attributes are the service's own members. */
export function toTerraform(kind: Kind, name: string, resource: string, distinct: Distinct): string {
  const label = distinct(identifier(name), '_');
  const attributes = wanted(resource).map((one) => `  ${key(one.name)} = ${expression(one.raw, 1)}\n`);
  return `resource "svc_${kind.name}" "${label}" {\n${attributes.join('')}}\n`;
}

/** A Terraform name: letters, digits, `_` and `-`, and no digit or hyphen at its beginning. */
const identifier = (name: string): string => name.replace(/[^A-Za-z0-9_-]+/g, '_').replace(/^(?![A-Za-z_])/, '_');

/** A JSON text as an expression: numbers digit for digit. */
function expression(json: string, depth: number): string {
  const line = `\n${'  '.repeat(depth + 1)}`;
  const end = `\n${'  '.repeat(depth)}`;
  if (json.startsWith('{')) {
    const list = members(json).map(({ name, raw }) => `${line}${key(name)} = ${expression(raw, depth + 1)}`);
    return list.length === 0 ? '{}' : `{${list.join('')}${end}}`;
  }
  if (json.startsWith('[')) {
    const list = elements(json).map((raw) => `${line}${expression(raw, depth + 1)},`);
    return list.length === 0 ? '[]' : `[${list.join('')}${end}]`;
  }
  return json.startsWith('"') ? quoted(JSON.parse(json) as string) : json;
}

const key = (name: string): string =>
  /^[A-Za-z_][A-Za-z0-9_-]*$/.test(name) && !RESERVED.has(name) ? name : quoted(name);

/** As the key of an object these would be read as something else than their text. */
const RESERVED = new Set(['for', 'null', 'true', 'false']);

/** A string that holds no template, whatever stands in it: `${` and `%{` begin one. */
function quoted(text: string): string {
  const plain = text.replaceAll('\\', String.raw`\\`).replaceAll('"', String.raw`\"`);
  return `"${escapeLine(plain).replace(/([$%]+)\{/g, literalBrace)}"`;
}

/** The last mark is doubled; those before it are written as escapes, since a doubled mark would take them along. */
function literalBrace(_found: string, marks: string): string {
  const before = [...marks.slice(0, -1)].map((mark) => (mark === '$' ? String.raw`\u0024` : String.raw`\u0025`));
  const last = marks.slice(-1);
  return `${before.join('')}${last}${last}{`;
}
