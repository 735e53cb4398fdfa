import type { Kind } from '../args/kinds.js';
import type { Terminal } from '../terminal.js';
import { nameOf, type Shown } from './columns.js';
import { distinctNames } from './distinct.js';
import type { ListSink } from './document.js';
import { toKubernetes } from './kubernetes.js';
import { toTerraform } from './terraform.js';

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

const SEPARATORS = { tf: '\n', crd: '---\n' } as const;
