import { ClientError } from '../../client/errors.js';
import { type Query } from '../../client/pages.js';
import { matcher, parseFilter } from './filter.js';
import type { Row } from './row.js';
import { appended, arrived, firstOf, type Loaded, MOST, prepended, rowsOf, type Window } from './window.js';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export type View = 'list' | 'event' | 'diff' | 'help';

/** A call to make: the list from its start, or the page below or above what is loaded. */
export interface Want {
  readonly what: 'anew' | 'below' | 'above';
  readonly at: string;
  /** What the service is asked for. */
  readonly asked: Query;
  /** The answer to an older want is dropped. */
  readonly ticket: number;
}

/**
 * All that the viewer knows. It changes by the functions of this folder only, which neither draw nor call: a state that wants
 * something says so.
 */
export interface State {
  readonly size: Size;
  /** What the service was asked for, and returned the events of the window for. */
  readonly asked: Query;
  readonly window: Window;
  /** What is loaded and matches the typed filter. */
  readonly rows: readonly Row[];
  readonly typed: string;
  /** The filter as it was before it was changed; undefined if nobody types. */
  readonly typing: string | undefined;
  readonly pasting: boolean;
  readonly view: View;
  /** The event of the pane. */
  readonly open: Row | undefined;
  /** The lines of the event, its difference or the help. */
  readonly pane: readonly string[];
  /** The first line of the pane, and the first row of the list, that is on the screen. */
  readonly scroll: number;
  readonly top: number;
  readonly cursor: number;
  readonly following: boolean;
  /** Counts how often the list was read anew; what an older one still sends is dropped. */
  readonly run: number;
  readonly want: Want | undefined;
  readonly tickets: number;
  /** On the way to the last event: each page asks for the next. */
  readonly toEnd: boolean;
  readonly notice: { readonly text: string; readonly bad: boolean } | undefined;
  /** Why nothing new comes at the moment. */
  readonly waiting: string | undefined;
  readonly over: 'quit' | 'interrupt' | undefined;
  readonly suspended: boolean;
}

/** What the state takes from its surroundings; both are pure. */
export interface Rules {
  /** Throws `ClientError` for a filter that the service could not understand. */
  query(typed: string, loaded: readonly Row[]): Query;
  /** The path of the first page of a query. */
  start(query: Query): string;
  pane(row: Row | undefined, view: Exclude<View, 'list'>, columns: number): readonly string[];
}

/** Lines that are neither list nor pane: the title, the heads of the columns, what is shown, and the keys. */
const FRAME = 4;
/** A screen of this height has a line for the message of the event at the cursor. */
const TALL = 12;

export const isTall = ({ rows }: Size): boolean => rows >= TALL;
export const heightOf = ({ size }: Pick<State, 'size'>): number =>
  Math.max(1, size.rows - FRAME - (isTall(size) ? 1 : 0));

export const loadedOf = ({ window }: State): number => window.chunks.reduce((sum, { rows }) => sum + rows.length, 0);
export const current = ({ rows, cursor }: State): Row | undefined => rows[cursor];

/** The state of a list whose first page was read. */
export function opened(size: Size, asked: Query, start: string, page: Loaded): State {
  const window = firstOf(start, page);
  return {
    ...{ size, asked, window, rows: rowsOf(window), typed: '', typing: undefined, pasting: false },
    ...{ view: 'list', open: undefined, pane: [], scroll: 0, top: 0, cursor: 0, following: false, run: 0 },
    ...{
      want: undefined,
      tickets: 0,
      toEnd: false,
      notice: undefined,
      waiting: undefined,
      over: undefined,
      suspended: false,
    },
  };
}

/** The cursor on a row that there is, and the screen where the cursor is. */
export function settled(state: State): State {
  const height = heightOf(state);
  const cursor = clamp(state.cursor, 0, state.rows.length - 1);
  const lowest = Math.max(0, state.rows.length - height);
  const top = clamp(clamp(state.top, cursor - height + 1, cursor), 0, lowest);
  const scroll = clamp(state.scroll, 0, state.pane.length - height);
  return { ...state, cursor, top, scroll };
}

const clamp = (value: number, least: number, most: number): number =>
  Math.max(least, Math.min(value, Math.max(most, 0)));

/** The state with other events or another filter. The cursor stays on its event as long as it is there. */
export function reshown(state: State): State {
  const matches = matcher(parseFilter(state.typed));
  const rows = rowsOf(state.window).filter(matches);
  const event = current(state);
  // A reader at the top of what grows wants to see what is new.
  const stays = event !== undefined && !(state.following && state.cursor === 0 && state.view === 'list');
  const found = stays ? rows.findIndex(({ id }) => id === event.id) : -1;
  const cursor = found >= 0 ? found : stays ? state.cursor : 0;
  return settled({ ...state, rows, cursor, top: state.top + cursor - state.cursor });
}

/** Asks for a page, unless one is on its way. */
export function wanting(state: State, what: 'below' | 'above'): State {
  const at = what === 'below' ? state.window.below : state.window.above.at(-1);
  if (at === undefined || state.want !== undefined) return state;
  if (what === 'below' && state.following && loadedOf(state) >= MOST.events) {
    return said(
      { ...state, toEnd: false },
      `${loadedOf(state)} events are loaded; f ends following, so that more can be`,
    );
  }
  return wish(state, { what, at, asked: state.asked });
}

function wish(state: State, want: Omit<Want, 'ticket'>): State {
  const ticket = state.tickets + 1;
  return { ...state, want: { ...want, ticket }, tickets: ticket };
}

/** Asks the service for the list again, from its start, with the filters of what is typed. */
export function anew(state: State, rules: Rules): State {
  try {
    const asked = rules.query(state.typed, rowsOf(state.window));
    return wish({ ...state, toEnd: false }, { what: 'anew', at: rules.start(asked), asked });
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    return said(state, error.message, true);
  }
}

export const said = (state: State, text: string, bad = false): State => ({ ...state, notice: { text, bad } });

/** The page that was wanted is there. */
export function loaded(state: State, want: Want, page: Loaded): State {
  if (want.ticket !== state.want?.ticket) return state;
  const next: State = { ...state, want: undefined, waiting: undefined };
  if (want.what === 'anew') {
    const window = firstOf(want.at, page);
    return reshown({ ...next, asked: want.asked, run: state.run + 1, window, rows: [], cursor: 0, top: 0 });
  }
  const window = (want.what === 'below' ? appended : prepended)(state.window, page);
  const grown = reshown({ ...next, window });
  if (!state.toEnd) return grown;
  const atEnd = settled({ ...grown, cursor: grown.rows.length - 1, toEnd: window.below !== undefined });
  return wanting(atEnd, 'below');
}

/** The call failed: what is shown stays. */
export function failed(state: State, want: Want, message: string): State {
  if (want.ticket !== state.want?.ticket) return state;
  return said({ ...state, want: undefined, toEnd: false }, `${message}; r tries again`, true);
}

/** New events, oldest first. */
export function followed(state: State, run: number, rows: readonly Row[]): State {
  if (run !== state.run || !state.following) return state;
  const next: State = { ...state, waiting: undefined };
  return rows.length === 0 ? next : reshown({ ...next, window: arrived(state.window, rows) });
}

/** Following has ended: waiting does not mend it. */
export function followFailed(state: State, run: number, message: string): State {
  if (run !== state.run) return state;
  return said({ ...state, following: false, waiting: undefined }, `${message}; f follows again`, true);
}

export const waiting = (state: State, run: number, text: string | undefined): State =>
  run === state.run && state.following ? { ...state, waiting: text } : state;

/** The screen has another size. */
export function resized(state: State, size: Size, rules: Rules): State {
  return settled(laidOut({ ...state, size }, rules));
}

/** The lines of the pane for what it shows and how wide it is. */
export function laidOut(state: State, rules: Rules): State {
  if (state.view === 'list') return state;
  return { ...state, pane: rules.pane(state.open, state.view, state.size.columns) };
}
