import type { Format } from '../../command.js';
import type { Terminal } from '../../terminal.js';
import { type ListSink, openList, openStream, type TextForms } from '../document.js';
import { escapeLine } from '../escape.js';
import { oneLine } from '../json-layout.js';

/** Formats of other systems, an event each line or record. */
type LineFormat = Extract<Format, 'ocsf' | 'cef' | 'cloudevents' | 'csv'>;

interface Lines {
  readonly header?: string;
  /** One event, with its line end. */
  of(raw: string): string;
}

const line = (write: (raw: string) => string): Lines => ({ of: (raw) => `${oneLine(write(raw))}\n` });

const LINES: Readonly<Record<LineFormat, () => Promise<Lines>>> = {
  ocsf: async () => line((await import('./ocsf.js')).ocsfEvent),
  cef: async () => line((await import('./cef.js')).cefLine),
  cloudevents: async () => line((await import('./cloudevents.js')).cloudEvent),
  csv: async () => {
    const { CSV_HEADER, csvRecord } = await import('./csv.js');
    return { header: CSV_HEADER, of: csvRecord };
  },
};

const isLines = (format: Format): format is LineFormat => Object.hasOwn(LINES, format);

/** Where events go, in all formats that they have; `endless`: a document each, as they come, and `begin` may be left out. */
export async function openEvents(
  terminal: Terminal,
  format: Format,
  forms: TextForms,
  endless = false,
): Promise<ListSink> {
  const nothing = async () => {};
  if (!isLines(format)) {
    return endless
      ? { begin: nothing, items: openStream(terminal, format, forms), end: nothing }
      : openList(terminal, format, forms);
  }
  const { header = '', of } = await LINES[format]();
  // Nothing in a line can steer a terminal; a program gets it as it is.
  const safe = (text: string) => (terminal.isTTY ? `${escapeLine(text.trimEnd())}\n` : text);
  return {
    begin: async () => (header === '' ? undefined : terminal.out(safe(header))),
    items: (raws) => terminal.out(raws.map((raw) => safe(of(raw))).join('')),
    end: nothing,
  };
}
