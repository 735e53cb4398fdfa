import { textOf } from '../values.js';
import { publisherOf, type Recorded } from './recorded.js';

const COLUMNS: Readonly<Record<string, (event: Recorded) => unknown>> = {
  id: ({ id }) => id,
  eventTime: ({ eventTime }) => eventTime,
  receivedTime: ({ receivedTime }) => receivedTime,
  context: ({ context }) => context?.name,
  action: ({ action }) => action?.type,
  result: ({ result }) => result?.status,
  message: ({ result }) => result?.message,
  resourceType: ({ resource }) => resource?.type,
  resourceName: ({ resource }) => resource?.name,
  resourceId: ({ resource }) => resource?.id,
  subjectEmail: ({ subject }) => subject?.email,
  subjectName: ({ subject }) => subject?.name,
  publisher: publisherOf,
  remoteIp: ({ context }) => context?.remoteIp,
  eventSource: ({ context }) => context?.eventSource,
  location: ({ context }) => context?.location,
  gvcAlias: ({ context }) => context?.gvcAlias,
  podId: ({ context }) => context?.podId,
  requestId: ({ requestId }) => requestId,
};

/** What spreadsheets take for the beginning of a formula, also behind blanks and in full width. */
const FORMULA = /^[\s\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n']/u;

/**
 * A field of RFC 4180, always in quotes. What a spreadsheet would calculate gets an apostrophe in front, and so does what begins
 * with one: without the first apostrophe, each field is again exactly what was recorded.
 */
function csvField(text: string): string {
  return `"${FORMULA.test(text) ? "'" : ''}${text.replaceAll('"', '""')}"`;
}

const record = (fields: readonly string[]): string => `${fields.map(csvField).join(',')}\r\n`;

export const CSV_HEADER = record(Object.keys(COLUMNS));

/** One event as a record of RFC 4180. */
export function csvRecord(raw: string): string {
  const event = JSON.parse(raw) as Recorded;
  return record(Object.values(COLUMNS).map((value) => textOf(value(event))));
}
