import type { TimeStyle } from '../command.js';
import type { Terminal } from '../terminal.js';
import type { TextForms } from './document.js';
import { escapeLine } from './escape.js';
import { type Change, type Difference, differenceOf } from './event-diff.js';
import { eventColumns, eventForms, type ShownEvent } from './events.js';
import { shortName } from './short-name.js';
import { type Column, TablePrinter } from './table.js';

type LoggedEvent = ShownEvent & { difference: Difference };

const CHANGE: Column<LoggedEvent> = {
  header: 'CHANGE',
  value: ({ difference }) => difference.notable.map(inWords).join(', '),
  shrinks: true,
};

/** The log of one resource: a line an event that says what changed, with `diff` also what was before and after. */
export function eventlogForms(terminal: Terminal, style: TimeStyle, diff: boolean): TextForms {
  const { time, action, result, who, from } = eventColumns(style);
  const table = new TablePrinter<LoggedEvent>(terminal, [time, action, result, who, from, CHANGE]);
  const below = ({ difference }: LoggedEvent) => (diff ? difference.changes.flatMap(diffLines(terminal)) : []);
  return {
    rows: (raws) =>
      table.print(
        raws.map((raw) => ({ ...(JSON.parse(raw) as ShownEvent), difference: differenceOf(raw) })),
        below,
      ),
    name: eventForms(terminal, style).name,
  };
}

/** `description "a" -> "b"`, `+tags.team=core`, `-member ann@example.com`. */
function inWords(change: Change): string {
  const { what, before, after } = change;
  if (before !== undefined && after !== undefined) return `${what} ${before} -> ${after}`;
  const [sign, value = ''] = after === undefined ? ['-', before] : ['+', after];
  const link = linked(change, value);
  return link ? `${sign}${link.what} ${plain(JSON.stringify(link.name))}` : `${sign}${what}=${plain(value)}`;
}

function diffLines(terminal: Terminal): (change: Change) => string[] {
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
