import type { TimeStyle } from '../command.js';
import { escapeLine } from '../output/escape.js';
import { resultStyle } from '../output/events.js';
import type { Style } from '../terminal.js';
import { type Cell, cellsFor } from './columns.js';
import { describeQuery } from './filter.js';
import { asksAnew } from './keys.js';
import { current, heightOf, isTall, loadedOf, type Rules, type State } from './model.js';
import type { Row } from './row.js';
import { cellsOf, cut, lastCells, pad } from './text.js';

/** How the screen looks, whatever it shows. */
export interface Look {
  readonly org: string;
  readonly timeStyle: TimeStyle;
  paint(style: Style, text: string): string;
}

const LEAST = { columns: 24, rows: 6 };

const KEYS = {
  list: 'Enter detail  d diff  / filter  f follow  r again  ? keys  q quit',
  pane: 'Esc back  n p next, previous  d diff  up down scroll  Ctrl-C quit',
  help: 'Esc back  up down scroll  Ctrl-C quit',
} as const;

/** The screen as lines: exactly as many as it has, none wider than it. All text from outside is escaped. */
export function draw(state: State, look: Look, rules: Rules): string[] {
  const { columns, rows } = state.size;
  if (columns < LEAST.columns || rows < LEAST.rows) {
    const words = [`${columns}x${rows} is too small`, `needs ${LEAST.columns}x${LEAST.rows}`, 'q quits'];
    return Array.from({ length: rows }, (_, line) => cut(words[line] ?? '', columns));
  }
  const body = state.view === 'list' ? listBody(state, look) : paneBody(state);
  const about = isTall(state.size) ? [aboutLine(state, look)] : [];
  const filled = Array.from({ length: heightOf(state) }, (_, line) => body[line] ?? '');
  return [
    titleLine(state, look),
    headLine(state, look),
    ...filled,
    ...about,
    shownLine(state, look),
    lastLine(state, look, rules),
  ];
}

function titleLine(state: State, { org, paint }: Look): string {
  const { size, following, waiting, want, view, open } = state;
  const doing = waiting ? 'waiting for the service' : want ? 'loading...' : following ? 'following' : '';
  const name =
    view === 'list' ? org : view === 'help' ? 'keys' : `${view === 'diff' ? 'diff of ' : ''}${open?.id ?? ''}`;
  const right = cut(doing, size.columns - 1);
  const left = pad(escapeLine(`svc audit browse  ${name}`), size.columns - cellsOf(right));
  return paint('bold', left) + (doing ? paint(waiting ? 'yellow' : 'green', right) : '');
}

const headsOf = (cells: readonly Cell[]): string => cells.map(({ head, width }) => pad(head, width)).join('  ');

function headLine({ view, size, open, rows }: State, { paint, timeStyle }: Look): string {
  if (view === 'help') return '';
  if (view !== 'list') return cut(escapeLine(`${open?.time ?? ''}  ${open?.who ?? ''}`), size.columns);
  const [time, ...others] = cellsFor(size.columns, timeStyle, rows);
  return paint('dim', cut(`  ${headsOf(time ? [time] : [])}    ${headsOf(others)}`, size.columns));
}

const SIGNS: Partial<Record<Style, string>> = { green: '+', red: '!' };

function listBody(state: State, look: Look): string[] {
  const { rows, top, cursor, size } = state;
  const cells = cellsFor(size.columns, look.timeStyle, rows);
  if (rows.length === 0) return ['', cut(emptyText(state), size.columns)];
  return rows.slice(top, top + heightOf(state)).map((row, index) => rowLine(row, cells, top + index === cursor, look));
}

function rowLine(row: Row, cells: readonly Cell[], selected: boolean, { paint }: Look): string {
  const [time = '', ...others] = cells.map(({ text, width }) => pad(escapeLine(text(row)) || '-', width));
  const style = resultStyle({ result: { status: row.fields.result } });
  const sign = (style && SIGNS[style]) ?? (row.fields.result ? '?' : ' ');
  const [before, after] = [`${selected ? '>' : ' '} ${time}  `, ` ${others.join('  ')}`];
  if (selected) return paint('inverse', before + sign + after);
  return before + (style ? paint(style, sign) : sign) + after;
}

function emptyText(state: State): string {
  const { typed, asked, want, window } = state;
  if (want?.what === 'anew') return '  loading...';
  if (loadedOf(state) > 0) {
    const more = window.below === undefined ? '' : '; down loads more';
    return `  None of the ${loadedOf(state)} loaded events matches ${escapeLine(typed)}${more}.`;
  }
  const filters = describeQuery(asked);
  if (filters === '') return '  No events yet. f shows them as they come.';
  return `  No events match ${escapeLine(filters)}. The service compares exactly.`;
}

/** What happened to the event at the cursor, if it says so. */
function aboutLine(state: State, { paint }: Look): string {
  const row = current(state);
  if (state.view !== 'list' || !row) return '';
  const { result } = row.fields;
  const text = [result, row.message].filter(Boolean).join(': ');
  const style = resultStyle({ result: { status: result } });
  const shown = cut(`  ${escapeLine(text)}`, state.size.columns);
  return style === 'red' ? paint('red', shown) : shown;
}

function paneBody({ pane, scroll, size }: State): string[] {
  return pane.slice(scroll, scroll + heightOf({ size }));
}

/** Which of the two is shown: what the service returned, or what of it matches the typed filter. */
function shownLine(state: State, { paint }: Look): string {
  const { typed, typing, rows, asked, window, size, view, pane, scroll } = state;
  if (view !== 'list') {
    const last = Math.min(pane.length, scroll + heightOf(state));
    return cut(`lines ${Math.min(scroll + 1, last)}-${last} of ${pane.length}`, size.columns);
  }
  const count = loadedOf(state);
  const filters = escapeLine(describeQuery(asked)) || 'all events';
  const more = window.above.length + (window.below === undefined ? 0 : 1) > 0 ? 'more exist' : 'no more';
  const place = rows.length > 0 && typing === undefined ? `  ${state.cursor + 1}/${rows.length}` : '';
  const text =
    rows.length === count
      ? `[service] ${filters}: ${count} loaded, ${more}`
      : `[loaded] ${escapeLine(typed)}: ${rows.length} of ${count} loaded of ${filters}, ${more}`;
  return paint('bold', pad(cut(text, size.columns - place.length), size.columns - place.length)) + place;
}

function lastLine(state: State, { paint }: Look, rules: Rules): string {
  const { notice, waiting, typing, view, size } = state;
  if (typing !== undefined) return typingLine(state, asksAnew(state, rules));
  const text = notice?.text ?? waiting;
  if (text !== undefined) return paint(notice?.bad === false ? 'green' : 'red', cut(escapeLine(text), size.columns));
  return paint('dim', cut(view === 'list' ? KEYS.list : view === 'help' ? KEYS.help : KEYS.pane, size.columns));
}

/** The end of what is typed stays visible. */
function typingLine({ typed, size }: State, asks: boolean): string {
  const keys = asks ? '  Enter asks the service, Esc cancels' : '  Esc cancels';
  const filter = `/${escapeLine(typed)}_`;
  const room = Math.max(size.columns - keys.length, Math.floor(size.columns / 2));
  const shown = cellsOf(filter) <= room ? filter : `…${lastCells(filter, room - 1)}`;
  return cut(shown + keys, size.columns);
}
