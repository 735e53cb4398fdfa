import type { TimeStyle } from '../command.js';
import type { Style, Terminal } from '../terminal.js';
import { type TextForms, textForms } from './document.js';
import { escapeLine } from './escape.js';
import { type Change, type Difference, differenceOf } from './event-diff.js';
import { type Column, TablePrinter } from './table.js';
import { refOf, shortName, textOf, timeText } from './values.js';

/** The part of an event that the text format shows. */
interface ShownEvent {
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

export function resultStyle({ result }: Pick<ShownEvent, 'result'>): Style | undefined {
  const status = textOf(result?.status).toUpperCase();
  if (GOOD.has(status)) return 'green';
  return BAD.has(status) ? 'red' : undefined;
}

const eventColumns = (style: TimeStyle) =>
  ({
    time: { header: 'TIME', value: ({ eventTime }) => timeText(eventTime, style) },
    action: { header: 'ACTION', value: ({ action }) => textOf(action?.type), shrinks: true },
    result: { header: 'RESULT', value: ({ result }) => textOf(result?.status), shrinks: true, style: resultStyle },
    type: { header: 'RESOURCE TYPE', value: ({ resource }) => textOf(resource?.type), shrinks: true },
    resource: {
      header: 'RESOURCE',
      value: ({ resource }) => textOf(resource?.name) || textOf(resource?.id),
      shrinks: true,
    },
    who: { header: 'WHO', value: whoOf, shrinks: true },
    from: { header: 'FROM', value: ({ context }) => textOf(context?.remoteIp), shrinks: true },
    id: { header: 'ID', value: ({ id }) => textOf(id) },
  }) satisfies Record<string, Column<ShownEvent>>;

/**
 * Who did it, as the event says. If its publisher is somebody else, a star in front says so, where no cut removes it, and
 * the publisher follows: `*ann@example.com (by ci)`. Older events name no publisher and are shown as they are.
 */
export function whoOf({ context, subject }: Pick<ShownEvent, 'context' | 'subject'>): string {
  const said = textOf(subject?.email) || textOf(subject?.name);
  const publisher = context?.publisher;
  if (typeof publisher !== 'object' || publisher === null) return said;
  const { link, keyId } = publisher as { link?: unknown; keyId?: unknown };
  // The root key is of no organization and has no link.
  const { kind, ref } = link === undefined ? { kind: '', ref: textOf(keyId) } : refOf(textOf(link));
  if (said === '') return `*- (by ${ref})`;
  const same = kind === 'user' ? textOf(subject?.email).toLowerCase() === ref : !textOf(subject?.email) && said === ref;
  return same ? said : `*${said} (by ${ref})`;
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
/** So many of the last digits of a UUID name an event: 8, or more where these are those of several that are shown together. */
const DIGITS = [8, 10, 12] as const;

/** The last digits of a UUID, which are random; any other identifier as it is. Every command on one event takes it. */
export const shortId = (id: string, digits: number): string => (UUID.test(id) ? id.slice(-digits) : id);

/**
 * Audit events as text rows, and as names: an event's name is its id. On a terminal rows have short identifiers, unless they
 * are `wide`.
 */
export function eventForms(terminal: Terminal, style: TimeStyle, { wide = false } = {}): TextForms {
  const columns = eventColumns(style);
  const isShort = terminal.isTTY && !wide;
  if (!isShort) return textForms<ShownEvent>(terminal, Object.values(columns), ({ id }) => textOf(id));
  let digits: number = DIGITS[0];
  const short: Column<ShownEvent> = { header: 'ID', value: ({ id }) => shortId(textOf(id), digits) };
  const forms = textForms<ShownEvent>(terminal, Object.values({ ...columns, id: short }), ({ id }) => textOf(id));
  const rows = (raws: readonly string[]) => {
    const ids = [...new Set(raws.map((raw) => textOf((JSON.parse(raw) as ShownEvent | null)?.id)))];
    const isUnique = (count: number) => new Set(ids.map((id) => shortId(id, count))).size === ids.length;
    digits = DIGITS.find((count) => count >= digits && isUnique(count)) ?? 12;
    return forms.rows(raws);
  };
  return { ...forms, rows };
}

type LoggedEvent = ShownEvent & { difference: Difference };

const CHANGE: Column<LoggedEvent> = {
  header: 'CHANGE',
  value: ({ difference }) => difference.notable.map(inWords).join(', '),
  shrinks: true,
};

/** The event log of one resource: a line an event that says what changed; with `diff`, before and after below it. */
export function eventlogForms(terminal: Terminal, style: TimeStyle, diff: boolean): TextForms {
  const { time, action, result, who, from } = eventColumns(style);
  const table = new TablePrinter<LoggedEvent>(terminal, [time, action, result, who, from, CHANGE]);
  const below = ({ difference }: LoggedEvent) => (diff ? difference.changes.flatMap(diffLines(terminal)) : []);
  const read = (raw: string) => ({ ...(JSON.parse(raw) as ShownEvent), difference: differenceOf(raw) });
  return { rows: (raws) => table.print(raws.map(read), below), name: eventForms(terminal, style).name };
}

/** `description "a" -> "b"`, `+tags.team=core`, `-member ann@example.com`. */
function inWords(change: Change): string {
  const { what, before, after } = change;
  if (before !== undefined && after !== undefined) return `${what} ${before} -> ${after}`;
  const [sign, value = ''] = after === undefined ? ['-', before] : ['+', after];
  const link = linked(change, value);
  return link ? `${sign}${link.what} ${plain(JSON.stringify(link.name))}` : `${sign}${what}=${plain(value)}`;
}

/** What a change was before and is after, in lines that are escaped and painted. */
export function diffLines(terminal: Pick<Terminal, 'paint'>): (change: Change) => string[] {
  const line = (sign: string, change: Change, value: string) => {
    const link = linked(change, value);
    return `    ${sign} ${escapeLine(link ? `${link.what}: ${link.name}` : `${change.what}: ${value}`)}`;
  };
  return (change) => [
    ...(change.before === undefined ? [] : [terminal.paint('red', line('-', change, change.before))]),
    ...(change.after === undefined ? [] : [terminal.paint('green', line('+', change, change.after))]),
  ];
}

/** Of an element of `memberLinks`: the `member`, by its short name. */
function linked({ what, element }: Change, value: string): { what: string; name: string } | undefined {
  if (!element || !what.endsWith('Links') || !value.startsWith('"')) return undefined;
  return { what: what.slice(0, -'Links'.length), name: shortName(JSON.parse(value) as string) };
}

/** A string that is one plain word goes without its quotes. */
const plain = (value: string): string => value.replace(/^"([\w.@:/+][\w.@:/+-]*)"$/, '$1');
