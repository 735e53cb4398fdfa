import { type Member, members, objectText } from '../../client/json-text.js';
import { wanted } from '../args/documents.js';
import type { Kind } from '../args/kinds.js';
import type { Distinct } from './distinct.js';
import { toYaml } from './yaml.js';

const LONGEST_NAME = 253;

/** A Kubernetes document. What the service calls `spec` of a domain is a part of the document's. */
export function toKubernetes(kind: Kind, name: string, resource: string, distinct: Distinct): string {
  const spec = wanted(resource).flatMap((one) => {
    if (one.name === 'name' && kind.name !== 'user') return [];
    return one.name === 'spec' && one.raw.startsWith('{') ? members(one.raw) : [one];
  });
  return toYaml(
    objectText([
      text('apiVersion', 'svc/v1'),
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
