import type { ReadStream, WriteStream } from 'node:tty';
import { escapeLine, escapeLines, Masker } from './output/escape.js';
import { CliError, EXIT, UsageError } from './output/failures.js';
import { fileFault } from './output/file-fault.js';

const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  inverse: [7, 27],
} as const;
export type Style = keyof typeof STYLES;

const DEFAULT_WIDTH = 80;
const DEFAULT_HEIGHT = 24;
const LONGEST_SECRET = 64 * 1024;
/** The reader of a pipe is gone: not an error of ours. */
const CLOSED = new Set(['EPIPE', 'ERR_STREAM_DESTROYED', 'ECONNRESET', 'EOF']);

export interface Streams {
  stdin: ReadStream;
  stdout: WriteStream;
  stderr: WriteStream;
}

/**
 * The one owner of the standard streams. It decides on colour and width, keeps secrets and control characters off the
 * screen, and knows when nobody reads any more.
 */
export class Terminal {
  readonly masker = new Masker();
  readonly #streams: Streams;
  readonly #env: NodeJS.ProcessEnv;
  #color: boolean | undefined;
  #quiet = false;
  #closed = false;
  #fault: NodeJS.ErrnoException | undefined;
  #progressShown = false;

  constructor(streams: Streams, env: NodeJS.ProcessEnv) {
    this.#streams = streams;
    this.#env = env;
    streams.stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (CLOSED.has(error.code ?? '')) this.#closed = true;
      else this.#fault ??= error;
    });
    // If standard error is closed, nobody is left to report to.
    streams.stderr.on('error', () => {});
  }

  get stdin(): ReadStream {
    return this.#streams.stdin;
  }

  /** Standard input as data; a person at a terminal is told that it is read. */
  get input(): ReadStream {
    if (this.stdin.isTTY) this.note('reading from the terminal; end with Ctrl-D on a line of its own');
    return this.stdin;
  }

  get isTTY(): boolean {
    return this.#streams.stdout.isTTY === true;
  }

  get errorIsTTY(): boolean {
    return this.#streams.stderr.isTTY === true;
  }

  /** Whether somebody is there to answer a question. */
  get isInteractive(): boolean {
    return this.stdin.isTTY === true && this.errorIsTTY;
  }

  /** Nobody reads standard output any more: a command that only shows data may stop. */
  get outputClosed(): boolean {
    return this.#closed;
  }

  get width(): number {
    return this.#streams.stdout.columns || DEFAULT_WIDTH;
  }

  get height(): number {
    return this.#streams.stdout.rows || DEFAULT_HEIGHT;
  }

  /** Calls the listener when the terminal gets another size, until the function that is returned is called. */
  onResize(listener: () => void): () => void {
    this.#streams.stdout.on('resize', listener);
    return () => this.#streams.stdout.off('resize', listener);
  }

  /** An explicit `--color` or `--no-color`; without one, the streams and `NO_COLOR` decide. */
  setColor(explicit: boolean | undefined): void {
    this.#color = explicit;
  }

  /** Whether remarks and progress are left out. */
  setQuiet(quiet: boolean): void {
    this.#quiet = quiet;
  }

  paint(style: Style, text: string, stream: 'stdout' | 'stderr' = 'stdout'): string {
    if (!this.#paints(stream)) return text;
    const [open, close] = STYLES[style];
    return `\u001b[${open}m${text}\u001b[${close}m`;
  }

  /** Writes data. The text is final: its makers have escaped what came from outside. Resolves when it was taken. */
  async out(text: string): Promise<void> {
    if (this.#fault) throw outputFailure(this.#fault);
    if (this.#closed || text === '') return;
    this.clearProgress();
    const { stdout } = this.#streams;
    if (!stdout.write(text)) await drained(stdout);
  }

  /** Resolves when everything written has left; fails if it could not (a full disk, say). */
  async flush(): Promise<void> {
    if (!this.#closed && !this.#fault) await new Promise<void>((done) => this.#streams.stdout.write('', () => done()));
    if (this.#fault) throw outputFailure(this.#fault);
  }

  /** A remark on standard error, unless `--quiet`; control characters but line feeds are escaped, secrets masked. */
  note(text: string): void {
    if (!this.#quiet) this.trace(text);
  }

  /** As a remark, but shown in any case: it was asked for. */
  trace(text: string): void {
    this.clearProgress();
    this.#streams.stderr.write(`${escapeLines(this.masker.mask(text))}\n`);
  }

  /** `warning: ...` on standard error, also with `--quiet`. */
  warn(message: string): void {
    this.clearProgress();
    const text = escapeLine(this.masker.mask(message));
    this.#streams.stderr.write(`${this.paint('yellow', 'warning:', 'stderr')} ${text}\n`);
  }

  /**
   * Shows a key that the service never shows again. What standard output has no place for goes to standard error, unmasked and
   * also with `--quiet`: a key that nobody saw is lost.
   */
  async showOnce(key: string, onOutput: 'as a line' | 'already' | 'not'): Promise<void> {
    if (onOutput === 'as a line') await this.out(`key: ${escapeLine(key)}\n`);
    this.warn('the key is shown only once: store it now, for example with `svc login`');
    if (onOutput === 'not') this.#streams.stderr.write(`key: ${escapeLine(key)}\n`);
  }

  /** `error: ...` on standard error, and what to do about it. */
  error(message: string, hints: readonly string[] = []): void {
    this.clearProgress();
    const clean = (text: string) => escapeLine(this.masker.mask(text));
    const lines = [`${this.paint('red', 'error:', 'stderr')} ${clean(message)}`, ...hints.map((h) => `  ${clean(h)}`)];
    this.#streams.stderr.write(`${lines.join('\n')}\n`);
  }

  /** Shows a line that replaces itself; only if standard error is a terminal that can, and not with `--quiet`. */
  progress(text: string): void {
    if (!this.errorIsTTY || this.#isDumb || this.#quiet) return;
    this.#streams.stderr.write(`\r\u001b[K${escapeLine(text)}`);
    this.#progressShown = true;
  }

  clearProgress(): void {
    if (!this.#progressShown) return;
    this.#streams.stderr.write('\r\u001b[K');
    this.#progressShown = false;
  }

  /** Asks a question on standard error; only `y` and `yes` mean yes. */
  async confirm(question: string, signal: AbortSignal): Promise<boolean> {
    this.clearProgress();
    const { askLine } = await import('./prompt.js');
    const answer = await askLine(this.#streams, `${escapeLine(question)} [y/N] `, signal);
    return /^y(es)?$/i.test(answer.trim());
  }

  /** Reads one secret: from a terminal without echo, else the one line that standard input holds. */
  async readSecret(prompt: string): Promise<string> {
    const secret = this.stdin.isTTY ? await this.#readHidden(prompt) : await this.#readOnlyLine();
    this.masker.add(secret);
    return secret;
  }

  async #readOnlyLine(): Promise<string> {
    let text = '';
    this.stdin.setEncoding('utf8');
    for await (const chunk of this.stdin) {
      text += chunk as string;
      if (text.length > LONGEST_SECRET) throw new UsageError('standard input holds more than one key');
    }
    const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
    if (lines.length > 1) throw new UsageError('standard input holds more than one line; give one key');
    return (lines[0] ?? '').trim();
  }

  async #readHidden(prompt: string): Promise<string> {
    const { askHidden } = await import('./prompt.js');
    return (await askHidden(this.#streams, prompt)).trim();
  }

  get #isDumb(): boolean {
    return this.#env.TERM === 'dumb';
  }

  #paints(stream: 'stdout' | 'stderr'): boolean {
    if (this.#color !== undefined) return this.#color;
    return this.#streams[stream].isTTY === true && !this.#env.NO_COLOR && !this.#isDumb;
  }
}

/** Resolves when the stream takes more, or never will again. */
function drained(stream: WriteStream): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of ['drain', 'close', 'error']) stream.off(event, done);
      resolve();
    };
    for (const event of ['drain', 'close', 'error']) stream.on(event, done);
  });
}

const outputFailure = (cause: NodeJS.ErrnoException): CliError =>
  new CliError(`cannot write the output: ${fileFault(cause)}`, EXIT.failure, [], { cause });
