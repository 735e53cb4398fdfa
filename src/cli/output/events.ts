import type { TimeStyle } from '../command.js';
import type { Style, Terminal } from '../terminal.js';
import type { TextForms } from './document.js';
import { type Column, TablePrinter } from './table.js';
import { formatTime } from './time.js';

/** What the text format shows of an event. Anything may be missing; nothing is believed to be what it should be. */
interface ShownEvent {
  id?: unknown;
  eventTime?: unknown;
  resource?: { id?: unknown; name?: unknown; type?: unknown };
  context?: { remoteIp?: unknown };
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

const columns = (style: TimeStyle): Column<ShownEvent>[] => [
  { header: 'TIME', value: (event) => formatTime(text(event.eventTime), style, Date.now()) },
  { header: 'ACTION', value: ({ action }) => text(action?.type), shrinks: true },
  { header: 'RESULT', value: ({ result }) => text(result?.status), shrinks: true, style: resultStyle },
  { header: 'RESOURCE TYPE', value: ({ resource }) => text(resource?.type), shrinks: true },
  { header: 'RESOURCE', value: ({ resource }) => text(resource?.name) || text(resource?.id), shrinks: true },
  { header: 'WHO', value: ({ subject }) => text(subject?.email) || text(subject?.name), shrinks: true },
  { header: 'FROM', value: ({ context }) => text(context?.remoteIp), shrinks: true },
  { header: 'ID', value: ({ id }) => text(id) },
];

/** Audit events as text rows, and as names: an event's name is its id. */
export function eventForms(terminal: Terminal, style: TimeStyle): TextForms {
  const table = new TablePrinter<ShownEvent>(terminal, columns(style));
  const parse = (raw: string) => (JSON.parse(raw) ?? {}) as ShownEvent;
  return {
    rows: (raws) => table.print(raws.map(parse)),
    name: (raw) => text(parse(raw).id),
  };
}
