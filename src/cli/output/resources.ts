import type { Kind } from '../args/kinds.js';
import type { Format, TimeStyle } from '../command.js';
import type { Terminal } from '../terminal.js';
import { columnsOf, nameOf, type Shown } from './columns.js';
import { isDocument, type ListSink, openList, showResource, type TextForms } from './document.js';
import { TablePrinter } from './table.js';

/** What a format has to know besides the resource itself. */
export interface Showing {
  kind: Kind;
  /** Of times in the text format. */
  style: TimeStyle;
}

/** Shows one resource. */
export async function showResourceAs(
  terminal: Terminal,
  format: Format,
  showing: Showing,
  resource: string,
): Promise<void> {
  if (isDocument(format)) return showResource(terminal, format, resource);
  const sink = await openResources(terminal, format, showing);
  await sink.items([resource]);
}

/** Where a list of resources goes. */
export async function openResources(terminal: Terminal, format: Format, showing: Showing): Promise<ListSink> {
  if (format === 'tf' || format === 'crd') {
    const { openDeclarations } = await import('./declarations.js');
    return openDeclarations(terminal, format, showing.kind);
  }
  return openList(terminal, format, resourceForms(terminal, showing));
}

function resourceForms(terminal: Terminal, { kind, style }: Showing): TextForms {
  const table = new TablePrinter<Shown>(terminal, columnsOf(kind, style));
  const parse = (raw: string) => (JSON.parse(raw) ?? {}) as Shown;
  return {
    rows: (raws) => table.print(raws.map(parse)),
    name: (raw) => nameOf(kind, parse(raw)),
  };
}
