import { parseFilter, queryOf } from '../../../src/cli/browse/filter.js';
import { keyOf, pressed } from '../../../src/cli/browse/keys.js';
import { followed, loaded, opened, type Rules, type Size, type State } from '../../../src/cli/browse/model.js';
import { paneLines } from '../../../src/cli/browse/pane.js';
import { type Row, rowOf } from '../../../src/cli/browse/row.js';
import type { Loaded } from '../../../src/cli/browse/window.js';

const plain = { paint: (_: string, text: string) => text };

export const RULES: Rules = {
  query: (typed, rows) => queryOf(parseFilter(typed), 'acme', rows),
  start: (query) => `/list?${JSON.stringify(query)}`,
  pane: paneLines(plain),
};

export const row = (n: number, more: object = {}): Row =>
  rowOf(
    JSON.stringify({
      id: `e${n}`,
      eventTime: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString(),
      resource: { name: `r${n}`, type: 'order' },
      action: { type: n % 2 ? 'create' : 'ship' },
      result: { status: n % 3 ? 'OK' : 'DENIED' },
      ...more,
    }),
  );

const made: Row[] = [];

/** The same row for the same number: tests use thousands. */
function usual(n: number): Row {
  made[n] ??= row(n);
  return made[n];
}

/** A service that knows one list, newest first, and pages of it: a page's path names the event that it begins after. */
export class Service {
  readonly rows: Row[];

  constructor(
    count: number,
    readonly pageSize: number,
  ) {
    this.rows = Array.from({ length: count }, (_, index) => usual(count - index));
  }

  page(at: string): Loaded {
    const after = /#(.+)$/.exec(at)?.[1];
    const from = after === undefined ? 0 : this.rows.findIndex(({ id }) => id === after) + 1;
    const rows = this.rows.slice(from, from + this.pageSize);
    const isLast = from + this.pageSize >= this.rows.length;
    return { rows, next: isLast ? undefined : `${at.replace(/#.*/, '')}#${rows.at(-1)?.id}` };
  }

  /** A new event, which is the newest. */
  receive(): Row {
    const made = usual(this.rows.length + 1);
    this.rows.unshift(made);
    return made;
  }
}

const NAMED = new Set([
  ...['up', 'down', 'pageup', 'pagedown', 'home', 'end', 'return', 'escape', 'backspace', 'left', 'tab'],
  ...['paste-start', 'paste-end'],
]);

/** The viewer without a screen: keys go in, and what it wants is answered at once, or when the test says so. */
export class Viewer {
  state: State;

  constructor(
    readonly service: Service,
    size: Size = { columns: 80, rows: 24 },
  ) {
    const start = RULES.start({});
    this.state = opened(size, {}, start, service.page(start));
  }

  /** A key by its name, or each character of a text. */
  press(name: string): this {
    if (NAMED.has(name)) this.state = pressed(this.state, keyOf(undefined, { name }), RULES);
    else if (name.startsWith('ctrl-'))
      this.state = pressed(this.state, keyOf(undefined, { name: name.slice(5), ctrl: true }), RULES);
    else for (const text of name) this.state = pressed(this.state, keyOf(text, { name: text }), RULES);
    return this;
  }

  answer(): this {
    const { want } = this.state;
    if (want) this.state = loaded(this.state, want, this.service.page(want.at));
    return this;
  }

  /** Answers as long as something is wanted. */
  answerAll(): this {
    while (this.state.want) this.answer();
    return this;
  }

  follow(rows: readonly Row[]): this {
    this.state = followed(this.state, this.state.run, rows);
    return this;
  }

  get ids(): string[] {
    return this.state.rows.map(({ id }) => id);
  }

  get at(): string | undefined {
    return this.state.rows[this.state.cursor]?.id;
  }
}
