import { SERVICE_CONTEXT } from '../../contract/kinds.js';
import type { TimeStyle } from '../command.js';
import type { Style, Terminal } from '../terminal.js';
import { type TextForms, textForms } from './document.js';
import { escapeLine } from './escape.js';
import { type Change, type Difference, differenceOf } from './event-diff.js';
import { type Column, TablePrinter } from './table.js';
import { dayOf, refOf, shortName, textOf, timeOfDay, timeText } from './values.js';

/** The part of an event that the text format shows. */
interface ShownEvent {
  id?: unknown;
  eventTime?: unknown;
  resource?: { id?: unknown; name?: unknown; type?: unknown };
  context?: { name?: unknown; remoteIp?: unknown; publisher?: unknown };
  subject?: { email?: unknown; name?: unknown };
  action?: { type?: unknown };
  result?: { status?: unknown; message?: unknown };
}

const GOOD = /^(OK|SUCCESS|SUCCEEDED|ALLOWED|[123]\d\d)$/i;
const BAD = /^(DENIED|ERROR|FAILED|FAILURE|[45]\d\d)$/i;

export function resultStyle({ result }: Pick<ShownEvent, 'result'>): Style | undefined {
  const status = textOf(result?.status);
  if (GOOD.test(status)) return 'green';
  return BAD.test(status) ? 'red' : undefined;
}

/** The result in one character; what it says if it is not good is below the row. */
function signOf(event: ShownEvent): string {
  const style = resultStyle(event);
  if (style) return style === 'green' ? '✓' : '✗';
  return textOf(event.result?.status) === '' ? ' ' : '•';
}

const SIGN: Column<ShownEvent> = { header: '', value: signOf, style: resultStyle, usual: 1 };

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
    context: { header: 'CONTEXT', value: ({ context }) => textOf(context?.name), shrinks: true },
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

/** Audit events as text rows, and as names: an event's name is its id. */
export function eventForms(terminal: Terminal, style: TimeStyle, { wide = false, steady = false } = {}): TextForms {
  const wideForms = textForms<ShownEvent>(terminal, Object.values(eventColumns(style)), ({ id }) => textOf(id));
  if (!terminal.isTTY || wide) return wideForms;
  const table = new NarrowTable(terminal, style, steady);
  return { ...wideForms, rows: (raws) => table.print(raws) };
}

/** No context has such a name, so no publisher can make an event look like one of the service. */
const BY_THE_SERVICE = '[svc]';

/** How far what is below a row is indented, and how many lines it may have. */
const INDENT = 6;
const MOST_BELOW = 3;

/**
 * Events on a terminal of 80 columns: short identifiers, the days as headings, a sign for the result, and below the row what
 * the result says, unless it is good.
 */
class NarrowTable {
  readonly #table: TablePrinter<ShownEvent>;
  #digits: number = DIGITS[0];
  #day: string | undefined;

  constructor(
    readonly terminal: Terminal,
    readonly style: TimeStyle,
    steady: boolean,
  ) {
    const { action, who } = eventColumns(style);
    const columns: Column<ShownEvent>[] = [
      { header: 'TIME', value: ({ eventTime }) => timeOfDay(eventTime, style), usual: style === 'age' ? 4 : 8 },
      SIGN,
      { ...action, usual: 16 },
      { header: 'RESOURCE', value: resourceOf, shrinks: true, usual: 32 },
      { ...who, usual: 28 },
      { header: 'CONTEXT', value: contextOf, shrinks: true, usual: 12 },
      { header: 'ID', value: ({ id }) => shortId(textOf(id), this.#digits), usual: 8 },
    ];
    this.#table = new TablePrinter(terminal, columns, steady);
  }

  async print(raws: readonly string[]): Promise<void> {
    const events = raws.map((raw) => (JSON.parse(raw) ?? {}) as ShownEvent);
    const ids = [...new Set(events.map(({ id }) => textOf(id)))];
    const isUnique = (count: number) => new Set(ids.map((id) => shortId(id, count))).size === ids.length;
    this.#digits = DIGITS.find((count) => count >= this.#digits && isUnique(count)) ?? 12;
    const below = await resultLines(this.terminal, events);
    await this.#table.print(events, { above: (event) => this.#heading(event), below });
  }

  #heading({ eventTime }: ShownEvent): string[] {
    const day = this.style === 'iso' ? undefined : dayOf(eventTime);
    if (day === undefined || day === this.#day) return [];
    this.#day = day;
    return [this.terminal.paint('dim', day)];
  }
}

/** What results say that are not good, in lines below their rows. */
async function resultLines(
  terminal: Terminal,
  events: readonly ShownEvent[],
): Promise<(event: ShownEvent) => readonly string[]> {
  if (events.every((event) => resultText(event) === '')) return () => [];
  const { default: wrap } = await import('wrap-ansi');
  const width = Math.max(20, terminal.width - INDENT - 1);
  return (event) => {
    const text = resultText(event);
    if (text === '') return [];
    const lines = wrap(escapeLine(text), width, { hard: true }).split('\n');
    const shown = lines.slice(0, MOST_BELOW).map((line) => `${' '.repeat(INDENT)}${line}`);
    if (lines.length > MOST_BELOW) shown.push(`${shown.pop()}…`);
    return shown.map((line) => terminal.paint(resultStyle(event) ?? 'dim', line));
  };
}

/** What the result says, if it is not good. */
function resultText(event: ShownEvent): string {
  const [status, message] = [textOf(event.result?.status), textOf(event.result?.message)];
  if (status === '' || resultStyle(event) === 'green') return '';
  return message === '' ? status : `${status}: ${message}`;
}

/** `type/name`, or what there is of it. */
function resourceOf({ resource }: ShownEvent): string {
  const name = textOf(resource?.name) || textOf(resource?.id);
  return [textOf(resource?.type), name].filter((text) => text !== '').join('/');
}

function contextOf({ context }: ShownEvent): string {
  const name = textOf(context?.name);
  return name === SERVICE_CONTEXT ? BY_THE_SERVICE : name;
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
  const { isTTY } = terminal;
  const table = new TablePrinter<LoggedEvent>(
    terminal,
    isTTY ? [time, SIGN, action, who, from, CHANGE] : [time, action, result, who, from, CHANGE],
  );
  const changes = ({ difference }: LoggedEvent) => (diff ? difference.changes.flatMap(diffLines(terminal)) : []);
  const read = (raw: string) => ({ ...(JSON.parse(raw) as ShownEvent), difference: differenceOf(raw) });
  const rows = async (raws: readonly string[]) => {
    const events = raws.map(read);
    const results = isTTY ? await resultLines(terminal, events) : () => [];
    await table.print(events, { below: (event) => [...results(event), ...changes(event)] });
  };
  return { rows, name: eventForms(terminal, style).name };
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
