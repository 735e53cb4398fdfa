import type { TimeStyle } from '../command.js';
import type { Style, Terminal } from '../terminal.js';
import type { TextForms } from './document.js';
import { type Column, TablePrinter } from './table.js';
import { formatTime } from './time.js';
import { whoOf } from './who.js';

/** What the text format shows of an event. Anything may be missing; nothing is believed to be what it should be. */
export interface ShownEvent {
  id?: unknown;
  eventTime?: unknown;
  resource?: { id?: unknown; name?: unknown; type?: unknown };
  context?: { remoteIp?: unknown; publisher?: unknown };
  subject?: { email?: unknown; name?: unknown };
  action?: { type?: unknown };
  result?: { status?: unknown };
}

const GOOD = new Set(['OK', 'SUCCESS', 'ALLOWED']);
const BAD = new Set(['DENIED', 'ERROR', 'FAILED', 'FAILURE']);

const text = (value: unknown): string => (typeof value === 'string' ? value : value == null ? '' : String(value));

function resultStyle({ result }: ShownEvent): Style | undefined {
  const status = text(result?.status).toUpperCase();
  if (GOOD.has(status)) return 'green';
  return BAD.has(status) ? 'red' : undefined;
}

/** What each column shows of an event. */
export const eventColumns = (style: TimeStyle) =>
  ({
    time: { header: 'TIME', value: (event) => formatTime(text(event.eventTime), style, Date.now()) },
    action: { header: 'ACTION', value: ({ action }) => text(action?.type), shrinks: true },
    result: { header: 'RESULT', value: ({ result }) => text(result?.status), shrinks: true, style: resultStyle },
    type: { header: 'RESOURCE TYPE', value: ({ resource }) => text(resource?.type), shrinks: true },
    resource: {
      header: 'RESOURCE',
      value: ({ resource }) => text(resource?.name) || text(resource?.id),
      shrinks: true,
    },
    who: { header: 'WHO', value: whoOf, shrinks: true },
    from: { header: 'FROM', value: ({ context }) => text(context?.remoteIp), shrinks: true },
    id: { header: 'ID', value: ({ id }) => text(id) },
  }) satisfies Record<string, Column<ShownEvent>>;

/** Audit events as text rows, and as names: an event's name is its id. */
export function eventForms(terminal: Terminal, style: TimeStyle): TextForms {
  const table = new TablePrinter<ShownEvent>(terminal, Object.values(eventColumns(style)));
  const parse = (raw: string) => (JSON.parse(raw) ?? {}) as ShownEvent;
  return {
    rows: (raws) => table.print(raws.map(parse)),
    name: (raw) => text(parse(raw).id),
  };
}
