import { elements, type Member, members } from '../../contract/json-text.js';
import type { Kind } from '../../contract/kinds.js';
import { wanted } from '../args/input.js';
import type { Terminal } from '../terminal.js';
import type { ListSink } from './document.js';
import { escapeLine } from './escape.js';
import { objectText } from './json-layout.js';
import { nameOf, type Shown } from './values.js';
import { toYaml } from './yaml.js';

const SEPARATORS = { tf: '\n', crd: '---\n' } as const;

/** Where resources go that are written as declarations: Terraform blocks, Kubernetes documents. */
export function openDeclarations(terminal: Terminal, format: 'tf' | 'crd', kind: Kind): ListSink {
  const distinct = distinctNames();
  let count = 0;
  const declare = (raw: string): string => {
    const name = nameOf(kind, (JSON.parse(raw) ?? {}) as Shown);
    const separator = count++ === 0 ? '' : SEPARATORS[format];
    const text = format === 'tf' ? toTerraform(kind, name, raw, distinct) : toKubernetes(kind, name, raw, distinct);
    return `${separator}${text}`;
  };
  const ignore = async () => {};
  return { begin: ignore, items: (raws) => terminal.out(raws.map(declare).join('')), end: ignore };
}

/** Makes a name distinct from all that it has given out, by a number where need be. */
type Distinct = (name: string, joint: string) => string;

function distinctNames(): Distinct {
  const given = new Set<string>();
  return (name, joint) => {
    let distinct = name;
    for (let number = 2; given.has(distinct); number++) distinct = `${name}${joint}${number}`;
    given.add(distinct);
    return distinct;
  };
}

const LONGEST_NAME = 253;

/** A Kubernetes document. What the service calls `spec` of a domain is a part of the document's. */
function toKubernetes(kind: Kind, name: string, resource: string, distinct: Distinct): string {
  const spec = wanted(kind, resource).flatMap((one) => {
    if (one.name === 'name' && kind.ref === 'name') return [];
    return one.name === 'spec' && one.raw.startsWith('{') ? members(one.raw) : [one];
  });
  return toYaml(
    objectText([
      text('apiVersion', 'control.svc.dev/v1'),
      text('kind', kind.name),
      { name: 'metadata', raw: objectText([text('name', distinct(objectName(name), '-'))]) },
      { name: 'spec', raw: objectText(spec) },
    ]),
  );
}

const text = (name: string, value: string): Member => ({ name, raw: JSON.stringify(value) });

/** A name that Kubernetes takes: lower case letters, digits, `-` and `.`; `ann@example.com` is `ann-at-example.com`. */
function objectName(name: string): string {
  const plain = name
    .toLowerCase()
    .replaceAll('@', '-at-')
    .replace(/[^a-z0-9.-]+/g, '-');
  return plain.slice(0, LONGEST_NAME).replace(/^[.-]+|[.-]+$/g, '') || 'unnamed';
}

/** A Terraform block of type `svc_<kind>`; its attributes are the service's own members. */
function toTerraform(kind: Kind, name: string, resource: string, distinct: Distinct): string {
  const label = distinct(identifier(name), '_');
  const attributes = wanted(kind, resource).map((one) => `  ${key(one.name)} = ${expression(one.raw, 1)}\n`);
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

/** Words that an object's key must quote. */
const RESERVED = new Set(['for', 'null', 'true', 'false']);

/** A string that is never read as a template: `${` and `%{` would begin one. */
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
