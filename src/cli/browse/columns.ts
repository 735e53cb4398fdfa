import type { TimeStyle } from '../command.js';
import { timeText } from '../output/values.js';
import type { Row } from './row.js';

export interface Cell {
  readonly head: string;
  readonly width: number;
  text(row: Row): string;
}

interface Column {
  readonly head: string;
  /** Its part of the line if all columns need more than there is. */
  readonly part: number;
  text(row: Row): string;
}

const ACTION: Column = { head: 'ACTION', part: 3, text: ({ fields }) => fields.action };
const RESOURCE: Column = {
  head: 'RESOURCE',
  part: 5,
  text: ({ fields }) => [fields.type, fields.resource || fields.id].filter(Boolean).join('/'),
};
const WHO: Column = { head: 'WHO', part: 5, text: ({ who }) => who };
const CONTEXT: Column = { head: 'CONTEXT', part: 2, text: ({ fields }) => fields.context };
const MESSAGE: Column = { head: 'MESSAGE', part: 6, text: ({ message }) => message };

const NARROW = 60;
const WIDE = 100;
/** Between two columns; the cursor and the sign of the result take as much. */
const GAP = 2;

/** The columns of a list for so many cells. A row that scrolls does not move them: they depend on all rows. */
export function cellsFor(columns: number, style: TimeStyle, rows: readonly Row[]): Cell[] {
  const width = timeWidth(columns, style);
  const time: Cell = { head: 'TIME', width, text: (row) => shortTime(timeText(row.time, style), columns, style) };
  const shown = [ACTION, RESOURCE, ...(columns < NARROW ? [] : [WHO, CONTEXT]), ...(columns < WIDE ? [] : [MESSAGE])];
  const left = columns - width - GAP * (2 + shown.length);
  const widths = share(
    left,
    shown.map(({ head, part, text }) => ({
      part,
      needs: rows.reduce((most, row) => Math.max(most, text(row).length), head.length),
    })),
  );
  return [time, ...shown.map(({ head, text }, index) => ({ head, text, width: widths[index] ?? 0 }))];
}

/** Each gets its part, or what it needs if that is less; what is left goes to those that need more. */
function share(cells: number, wishes: readonly { readonly part: number; readonly needs: number }[]): number[] {
  const parts = wishes.reduce((sum, { part }) => sum + part, 0);
  const widths = wishes.map(({ part, needs }) => Math.min(needs, Math.floor((cells * part) / parts)));
  for (let left = cells - widths.reduce((sum, width) => sum + width, 0); left > 0; left -= 1) {
    const lacks = wishes.map(({ needs }, index) => needs - (widths[index] ?? 0));
    const neediest = lacks.indexOf(Math.max(...lacks));
    if ((lacks[neediest] ?? 0) <= 0) break;
    widths[neediest] = (widths[neediest] ?? 0) + 1;
  }
  return widths;
}

function timeWidth(columns: number, style: TimeStyle): number {
  if (columns < NARROW) return 5;
  if (columns < WIDE) return 14;
  return style === 'iso' ? 24 : 19;
}

/** Narrow screens leave out the year, narrower ones the day. */
function shortTime(text: string, columns: number, style: TimeStyle): string {
  if (style === 'age' || columns >= WIDE) return text;
  const short = text.replace('T', ' ').slice(5, 19);
  return columns < NARROW ? short.slice(6, 11) : short;
}
