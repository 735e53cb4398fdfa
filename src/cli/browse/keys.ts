import type { Key as Keypress } from 'node:readline';
import { describeQuery } from './filter.js';
import {
  anew,
  current,
  heightOf,
  laidOut,
  type Rules,
  reshown,
  type State,
  said,
  settled,
  type View,
  wanting,
} from './model.js';
import { rowsOf } from './window.js';

/** What the keys do, as `?` and the documentation show it. */
export const KEY_HELP: readonly (readonly [keys: string, what: string])[] = [
  ['up k, down j', 'move by one event; in a detail by one line'],
  ['PgUp b, PgDn space', 'move by one screen'],
  ['Home g, End G', 'first and last event; any key stops on the way'],
  ['Enter', 'detail of the event; Esc, q or left goes back'],
  ['d', 'what the event changed, before and after'],
  ['n p', 'in a detail: next and previous event of the list'],
  ['/', 'filter what is loaded as you type; Enter asks the service'],
  ['Esc', 'while you type: back to the filter before; later: no filter'],
  ['f', 'follow: new events come on top; again: stop'],
  ['r', 'read the list again'],
  ['Ctrl-L', 'draw the screen again'],
  ['?', 'this help'],
  ['q, Ctrl-C, Ctrl-Z', 'quit; interrupt (exit code 130); suspend (fg)'],
];

/** A key as it is called here: its character, its name, or `ctrl-c`. */
export interface Key {
  readonly name: string;
  /** What it types, if anything. */
  readonly text: string;
}

export function keyOf(text: string | undefined, { name = '', ctrl, meta }: Keypress): Key {
  if (ctrl) return { name: `ctrl-${name}`, text: '' };
  const types = !meta && text !== undefined && /^[^\u0000-\u001f\u007f-\u009f]+$/.test(text);
  return types ? { name: text === ' ' ? 'space' : text, text } : { name, text: '' };
}

type Act = (state: State, rules: Rules) => State;

const by =
  (step: (state: State) => number): Act =>
  (state) =>
    moved(state, state.cursor + step(state));

const page = (state: State): number => Math.max(1, heightOf(state) - 1);

const LIST: Readonly<Record<string, Act>> = {
  ...named(
    ['up', 'k', 'ctrl-p'],
    by(() => -1),
  ),
  ...named(
    ['down', 'j', 'ctrl-n'],
    by(() => 1),
  ),
  ...named(
    ['pageup', 'b', 'ctrl-b'],
    by((state) => -page(state)),
  ),
  ...named(['pagedown', 'space', 'ctrl-f'], by(page)),
  ...named(['home', 'g'], toStart),
  ...named(['end', 'G'], (state) => toEnd(state)),
  ...named(['return', 'enter', 'right', 'l'], (state, rules) => open(state, 'event', rules)),
  ...named(['d'], (state, rules) => open(state, 'diff', rules)),
  ...named(['/'], (state) => ({ ...state, typing: state.typed })),
  ...named(['escape'], unfiltered),
  ...named(['f'], toggleFollowing),
  ...named(['r'], anew),
  ...named(['?', 'h'], (state, rules) => open(state, 'help', rules)),
  ...named(['q'], (state) => ({ ...state, over: 'quit' })),
};

const scrolled =
  (step: (state: State) => number): Act =>
  (state) =>
    settled({ ...state, scroll: Math.max(0, state.scroll + step(state)) });

const toList: Act = (state) => ({ ...state, view: 'list', open: undefined, pane: [], scroll: 0 });

const PANE: Readonly<Record<string, Act>> = {
  ...named(
    ['up', 'k', 'ctrl-p'],
    scrolled(() => -1),
  ),
  ...named(
    ['down', 'j', 'ctrl-n'],
    scrolled(() => 1),
  ),
  ...named(
    ['pageup', 'b', 'ctrl-b'],
    scrolled((state) => -page(state)),
  ),
  ...named(['pagedown', 'space', 'ctrl-f'], scrolled(page)),
  ...named(
    ['home', 'g'],
    scrolled(() => Number.NEGATIVE_INFINITY),
  ),
  ...named(
    ['end', 'G'],
    scrolled(({ pane }) => pane.length),
  ),
  ...named(['escape', 'q', 'left', 'backspace'], toList),
  ...named(['return', 'enter'], (state, rules) =>
    state.view === 'diff' ? open(state, 'event', rules) : toList(state, rules),
  ),
  ...named(['d'], (state, rules) => open(state, state.view === 'diff' ? 'event' : 'diff', rules)),
  ...named(['n', 'right'], (state, rules) => neighbour(state, 1, rules)),
  ...named(['p'], (state, rules) => neighbour(state, -1, rules)),
  ...named(['?', 'h'], (state, rules) => (state.view === 'help' ? toList(state, rules) : open(state, 'help', rules))),
};

function named(names: readonly string[], act: Act): Record<string, Act> {
  return Object.fromEntries(names.map((name) => [name, act]));
}

/** The state after a key. */
export function pressed(before: State, key: Key, rules: Rules): State {
  if (key.name === 'paste-start' || key.name === 'paste-end') return { ...before, pasting: key.name === 'paste-start' };
  const state: State = { ...before, notice: undefined, toEnd: false };
  if (key.name === 'ctrl-c') return { ...state, over: 'interrupt' };
  if (key.name === 'ctrl-z') return { ...state, suspended: true };
  if (state.typing !== undefined) return typed(state, key, rules);
  // What is pasted by mistake must not be read as keys.
  if (state.pasting) return said(state, 'press / before you paste a filter', true);
  const act = (state.view === 'list' ? LIST : PANE)[key.name];
  return act ? act(state, rules) : state;
}

function typed(state: State, { name, text }: Key, rules: Rules): State {
  const change = (filter: string) => reshown({ ...state, typed: filter });
  if (state.pasting && text === '') return change(`${state.typed} `);
  if (text !== '') return change(state.typed + text);
  switch (name) {
    case 'backspace':
      return state.typed === '' ? { ...state, typing: undefined } : change([...state.typed].slice(0, -1).join(''));
    case 'ctrl-u':
      return change('');
    case 'ctrl-w':
      return change(state.typed.replace(/\S*\s*$/, ''));
    case 'escape':
      return reshown({ ...state, typed: state.typing ?? '', typing: undefined });
    case 'return':
    case 'enter':
      return asked({ ...state, typing: undefined }, rules);
    case 'up':
    case 'down':
    case 'tab':
      return { ...state, typing: undefined };
    default:
      return state;
  }
}

/** Whether the service would be asked for something else than it was. */
export function asksAnew(state: State, rules: Rules): boolean {
  try {
    return describeQuery(rules.query(state.typed, rowsOf(state.window))) !== describeQuery(state.asked);
  } catch {
    return true;
  }
}

function asked(state: State, rules: Rules): State {
  if (asksAnew(state, rules)) return anew(state, rules);
  const words = 'the service takes key:value only; words filter what is loaded (? shows the keys)';
  return state.typed.trim() === '' ? state : said(state, words);
}

function unfiltered(state: State, rules: Rules): State {
  const next = reshown({ ...state, typed: '' });
  return asksAnew(next, rules) ? anew(next, rules) : next;
}

function moved(state: State, cursor: number): State {
  const next = settled({ ...state, cursor });
  const height = heightOf(next);
  if (cursor >= next.rows.length - height && cursor >= state.cursor) return wanting(next, 'below');
  return cursor < height && cursor <= state.cursor ? wanting(next, 'above') : next;
}

function toStart(state: State, rules: Rules): State {
  const next = settled({ ...state, cursor: 0, top: 0 });
  return state.window.above.length > 0 ? anew(next, rules) : next;
}

function toEnd(state: State): State {
  const last = settled({ ...state, cursor: state.rows.length - 1 });
  return wanting({ ...last, toEnd: state.window.below !== undefined }, 'below');
}

function open(state: State, view: View, rules: Rules): State {
  const row = view === 'help' ? state.open : state.view === 'list' ? current(state) : state.open;
  if (view !== 'help' && !row) return toList(state, rules);
  return settled(laidOut({ ...state, view, open: row, scroll: 0 }, rules));
}

function neighbour(state: State, step: 1 | -1, rules: Rules): State {
  if (state.view === 'help') return state;
  const next = moved(state, state.cursor + step);
  return open({ ...next, open: current(next) }, state.view, rules);
}

/** New events belong on top of the newest that were read: a list that lost its top is read anew first. */
function toggleFollowing(state: State, rules: Rules): State {
  if (state.following) return { ...state, following: false, waiting: undefined };
  const following = settled({ ...state, following: true, cursor: 0, top: 0 });
  return state.window.above.length > 0 ? anew(following, rules) : following;
}
