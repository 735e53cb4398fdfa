import { createInterface, emitKeypressEvents, type Key as Keypress } from 'node:readline';
import { PassThrough } from 'node:stream';
import type { ApiClient } from '../../client/api-client.js';
import { ClientError, Interrupted } from '../../client/errors.js';
import { pagesFrom } from '../../client/follow.js';
import { nextOf, positionAfter, type Query } from '../../client/pages.js';
import { EXIT, hintsOf } from '../output/failures.js';
import { readPage } from '../page.js';
import type { Terminal } from '../terminal.js';
import { draw, type Look } from './draw.js';
import { keyOf, pressed } from './keys.js';
import {
  failed,
  followed,
  followFailed,
  loaded,
  opened,
  type Rules,
  resized,
  type Size,
  type State,
  type Want,
  waiting,
} from './model.js';
import { rowOf } from './row.js';
import { Screen } from './screen.js';
import type { Loaded } from './window.js';

/** Escape alone is a key when so long nothing follows that would make it the begin of one. */
const ESCAPE_MS = 50;

export interface Surroundings {
  readonly client: ApiClient;
  readonly terminal: Terminal;
  /** Aborted when the user interrupts. */
  readonly signal: AbortSignal;
  readonly rules: Rules;
  readonly look: Look;
  /** The path that says where the order received of a query ends. */
  received(query: Query): string;
}

/** Runs the viewer: passes keys and answers to the state, and does what the state wants. */
export class Session {
  readonly #around: Surroundings;
  readonly #screen: Screen;
  #state: State;
  /** Where following goes on: it was taken before the list was read, so that no event is between them. */
  #position = '';
  #follower: { readonly run: number } | undefined;
  #ticket = 0;
  #isDrawing = false;
  #end: { resolve(code: number): void; reject(error: unknown): void } | undefined;

  private constructor(around: Surroundings, state: State, position: string) {
    this.#around = around;
    this.#state = state;
    this.#position = position;
    this.#screen = new Screen(around.terminal, () =>
      this.#apply((now) => resized(now, sizeOf(around.terminal), around.rules)),
    );
  }

  /** Reads the first page before it takes the screen: what is wrong then is reported as by any other command. */
  static async open(around: Surroundings, asked: Query): Promise<Session> {
    const start = around.rules.start(asked);
    const { page, position } = await readAnew(around, start, asked);
    return new Session(around, opened(sizeOf(around.terminal), asked, start, page), position);
  }

  /** Until the user quits; the exit code. */
  async run(): Promise<number> {
    const { terminal, signal } = this.#around;
    const { stdin } = terminal;
    const ended = new Promise<number>((resolve, reject) => {
      this.#end = { resolve, reject };
    });
    const interrupted = () => this.#end?.resolve(EXIT.interrupted);
    const gone = () => this.#end?.resolve(EXIT.ok);
    emitKeypressEvents(stdin, createInterface({ input: new PassThrough(), escapeCodeTimeout: ESCAPE_MS }));
    signal.addEventListener('abort', interrupted);
    stdin.on('keypress', this.#pressed).on('end', gone).on('error', gone);
    this.#screen.open();
    this.#draw();
    stdin.resume();
    try {
      return await ended;
    } finally {
      this.#screen.close();
      this.#follower = undefined;
      signal.removeEventListener('abort', interrupted);
      stdin.off('keypress', this.#pressed).pause();
    }
  }

  readonly #pressed = (text: string | undefined, key: Keypress): void => {
    const named = keyOf(text, key);
    if (named.name === 'ctrl-l') return this.#screen.repaint();
    this.#apply((state) => pressed(state, named, this.#around.rules));
  };

  #apply(change: (state: State) => State): void {
    this.#state = change(this.#state);
    const { over, suspended, want, following, run } = this.#state;
    if (over) return this.#end?.resolve(over === 'quit' ? EXIT.ok : EXIT.interrupted);
    if (this.#around.terminal.outputClosed) return this.#end?.resolve(EXIT.ok);
    if (want && want.ticket !== this.#ticket) {
      this.#ticket = want.ticket;
      void this.#fetch(want);
    }
    if (!following) this.#follower = undefined;
    else if (this.#follower?.run !== run) void this.#follow(run);
    if (suspended) {
      this.#state = { ...this.#state, suspended: false };
      this.#screen.suspend();
    }
    this.#draw();
  }

  /** Many changes at once are drawn once. */
  #draw(): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    setImmediate(() => {
      this.#isDrawing = false;
      this.#screen.show(draw(this.#state, this.#around.look, this.#around.rules));
    });
  }

  async #fetch(want: Want): Promise<void> {
    try {
      if (want.what === 'anew') {
        const { page, position } = await readAnew(this.#around, want.at, want.asked);
        if (this.#state.want?.ticket === want.ticket) this.#position = position;
        this.#apply((state) => loaded(state, want, page));
      } else {
        const page = await read(this.#around.client, want.at);
        this.#apply((state) => loaded(state, want, page));
      }
    } catch (error) {
      this.#report(error, (state, text) => failed(state, want, text));
    }
  }

  async #follow(run: number): Promise<void> {
    const me = { run };
    this.#follower = me;
    const tell = (text: string) => this.#apply((state) => waiting(state, run, /waiting/.test(text) ? text : undefined));
    const { client } = this.#around;
    const read = (at: string) => readPage(client, at, { retry: 'never' });
    try {
      for await (const page of pagesFrom(client, this.#position, read, tell)) {
        if (this.#follower !== me) return;
        this.#position = positionAfter(page);
        this.#apply((state) => followed(state, run, page.items.map(rowOf)));
      }
    } catch (error) {
      if (this.#follower !== me) return;
      this.#report(error, (state, text) => followFailed(state, run, text));
    }
  }

  /** A call that failed is news; anything else is a fault of ours, and ends the viewer. */
  #report(error: unknown, change: (state: State, text: string) => State): void {
    if (error instanceof Interrupted) return;
    if (!(error instanceof ClientError)) return this.#end?.reject(error);
    const text = [error.message, ...hintsOf(error)].join('; ');
    this.#apply((state) => change(state, text));
  }
}

const sizeOf = ({ width, height }: Terminal): Size => ({ columns: width, rows: height });

async function read(client: ApiClient, at: string): Promise<Loaded> {
  const page = await readPage(client, at);
  return { rows: page.items.map(rowOf), next: nextOf(page, at) };
}

async function readAnew({ client, received }: Surroundings, start: string, asked: Query) {
  const position = positionAfter(await readPage(client, received(asked)));
  return { page: await read(client, start), position };
}
