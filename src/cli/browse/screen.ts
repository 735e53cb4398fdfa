import type { Terminal } from '../terminal.js';

/** Alternate screen, no cursor, no wrapping of what a terminal deems wider than we do, pasted text marked as such. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[?2004h';
const LEAVE = '\u001b[0m\u001b[?2004l\u001b[?7h\u001b[?25h\u001b[?1049l';

/** They end the process: the terminal is restored before they do. SIGINT is the runner's. */
const FATAL: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGQUIT'];

/**
 * The whole terminal, borrowed: it is given back when the viewer closes, stops, crashes or is ended by a signal that can be
 * caught. Only lines that changed are written, so that it stays quick over a slow line.
 */
export class Screen {
  readonly #terminal: Terminal;
  #lines: readonly string[] = [];
  #entered = false;
  #undo: (() => void)[] = [];

  /** `redraw` is called when the screen was lost, or has another size. */
  constructor(
    terminal: Terminal,
    readonly redraw: () => void,
  ) {
    this.#terminal = terminal;
  }

  open(): void {
    const leave = () => this.#leave();
    this.#on('exit', leave);
    this.#on('uncaughtExceptionMonitor', leave);
    for (const signal of FATAL) this.#on(signal, () => this.#die(signal));
    this.#on('SIGTSTP', this.#stopped);
    this.#on('SIGCONT', () => this.#continued());
    this.#undo.push(this.#terminal.onResize(() => this.repaint()));
    this.#enter();
  }

  close(): void {
    this.#leave();
    for (const undo of this.#undo.splice(0)) undo();
  }

  show(lines: readonly string[]): void {
    if (!this.#entered) return;
    const changed = lines.flatMap((line, index) =>
      line === this.#lines[index] ? [] : [`\u001b[${index + 1};1H\u001b[2K${line}`],
    );
    this.#lines = lines;
    this.#write(changed.join(''));
  }

  /** Draws everything again, also what should be there already. */
  repaint(): void {
    this.#lines = [];
    this.#write(this.#entered ? '\u001b[2J' : '');
    this.redraw();
  }

  /** Stops the process, and all that was started together with it, as Ctrl-Z does elsewhere. Returns when it goes on. */
  suspend(whom = 0): void {
    this.#leave();
    // The stop is the system's own: a process that no shell could continue is not stopped at all.
    process.off('SIGTSTP', this.#stopped);
    process.kill(whom, 'SIGTSTP');
    process.on('SIGTSTP', this.#stopped);
    this.#enter();
    this.repaint();
  }

  readonly #stopped = (): void => this.suspend(process.pid);

  /** Somebody stopped the process without asking it; meanwhile, others used the terminal. */
  #continued(): void {
    if (!this.#entered) return;
    this.#terminal.stdin.setRawMode(false);
    this.#entered = false;
    this.#enter();
    this.repaint();
  }

  #enter(): void {
    if (this.#entered) return;
    this.#entered = true;
    this.#terminal.stdin.setRawMode(true);
    this.#write(ENTER);
  }

  #leave(): void {
    if (!this.#entered) return;
    this.#write(LEAVE);
    this.#entered = false;
    this.#lines = [];
    // A terminal that has gone has no modes.
    if (!this.#terminal.stdin.destroyed) this.#terminal.stdin.setRawMode(false);
  }

  #die(signal: NodeJS.Signals): void {
    this.close();
    process.kill(process.pid, signal);
  }

  #write(text: string): void {
    // What cannot be written is reported by the flush at the end of every command.
    this.#terminal.out(text).catch(() => {});
  }

  #on(event: string, listener: () => void): void {
    process.on(event, listener);
    this.#undo.push(() => process.off(event, listener));
  }
}
