import type { Column as DescribedColumn, Kind } from '../../contract/kinds.js';
import type { Format, TimeStyle } from '../command.js';
import type { Terminal } from '../terminal.js';
import { isDocument, type ListSink, openList, showResource, textForms } from './document.js';
import type { Column } from './table.js';
import { listOf, nameOf, objectOf, type Shown, shortName, tagsText, textOf, timeText } from './values.js';

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
export async function openResources(terminal: Terminal, format: Format, { kind, style }: Showing): Promise<ListSink> {
  if (format === 'tf' || format === 'crd') {
    const { openDeclarations } = await import('./declarations.js');
    return openDeclarations(terminal, format, kind);
  }
  const columns = kind.columns.map((column) => columnOf(column, style));
  return openList(
    terminal,
    format,
    textForms<Shown>(terminal, columns, (one) => nameOf(kind, one)),
  );
}

function columnOf({ header, member, as, shrinks }: DescribedColumn, style: TimeStyle): Column<Shown> {
  const read = (one: Shown) => member.split('.').reduce<unknown>((value, name) => objectOf(value)[name], one);
  const value = (one: Shown): string => {
    if (as === 'special') return SPECIAL[member]?.(one) ?? '';
    if (as === 'time') return timeText(read(one), style);
    if (as === 'count') return String(listOf(read(one)).length);
    return as === 'tags' ? tagsText(read(one)) : textOf(read(one));
  };
  return { header, value, ...(shrinks && { shrinks }) };
}

/** The columns that are not simply a member, by the member that they begin from. */
const SPECIAL: Readonly<Record<string, (resource: Shown) => string>> = {
  /** The source of a group's members: `links`, `query` or both; `links` also for an empty group. */
  memberQuery({ memberLinks, memberQuery }) {
    if (memberQuery === undefined) return 'links';
    return listOf(memberLinks).length > 0 ? 'links,query' : 'query';
  },
  target: ({ target, targetLinks }) => textOf(target) || linksText(targetLinks),
  /** As `--binding` takes it. */
  bindings: ({ bindings }) =>
    listOf(bindings)
      .map(objectOf)
      .map(
        ({ permissions, principalLinks }) =>
          `${listOf(permissions).map(textOf).join(',')}=${linksText(principalLinks)}`,
      )
      .join('; '),
  'spec.ports': ({ spec }) =>
    listOf(objectOf(spec).ports)
      .map(objectOf)
      .map(({ number, protocol }) => `${textOf(number)}/${textOf(protocol)}`)
      .join(', '),
};

const linksText = (links: unknown): string =>
  listOf(links)
    .map((link) => shortName(textOf(link)))
    .join(',');
