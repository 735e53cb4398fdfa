import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PATIENCE } from '../../support/patience.js';
import { MAIN, NODE, temporaryFolder } from './svc.js';

/** A program that draws on the whole screen is looked at through tmux. Tests that need it are skipped where it is missing. */
export const withTmux = spawnSync('tmux', ['-V']).status === 0 ? it : it.skip;

/** What the shell's prompt looks like: it is there again when a command has ended. */
const PROMPT = '$>';

/** A terminal of its own, with a shell in it. */
export class Tmux {
  readonly #socket = join(temporaryFolder(), 'tmux');

  constructor(columns: number, rows: number, env: Record<string, string>) {
    const clean = { PATH: process.env.PATH ?? '', HOME: temporaryFolder(), TZ: 'UTC', PS1: PROMPT, LANG: 'C.UTF-8' };
    const shell = [
      'env',
      '-i',
      'TERM=screen-256color',
      ...Object.entries({ ...clean, ...env }).map(([k, v]) => `${k}=${v}`),
    ];
    this.#tmux(
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-x',
      `${columns}`,
      '-y',
      `${rows}`,
      ...shell,
      'bash',
      '--norc',
      '-i',
    );
  }

  /** Types `svc ...` at the prompt, with variables before it. */
  svc(args: string, variables = ''): void {
    this.type(`clear; ${variables} '${NODE}' '${MAIN}' ${args}; echo "code $?"`).press('Enter');
  }

  type(text: string): this {
    this.#tmux('send-keys', '-l', text);
    return this;
  }

  press(...keys: string[]): this {
    this.#tmux('send-keys', ...keys);
    return this;
  }

  resize(columns: number, rows: number): void {
    this.#tmux('resize-window', '-x', `${columns}`, '-y', `${rows}`);
  }

  paste(text: string): void {
    this.#tmux('set-buffer', text);
    this.#tmux('paste-buffer', '-p');
  }

  /** The screen as a person sees it. */
  screen(): string {
    return this.#tmux('capture-pane', '-p');
  }

  /** With its colours. */
  painted(): string {
    return this.#tmux('capture-pane', '-p', '-e');
  }

  /** Whether a program has the alternate screen, and whether the cursor is seen. */
  modes(): { alternate: boolean; cursor: boolean } {
    const [alternate, cursor] = this.#tmux('display', '-p', '#{alternate_on} #{cursor_flag}').trim().split(' ');
    return { alternate: alternate === '1', cursor: cursor === '1' };
  }

  /** The process that the shell runs. */
  child(): number {
    const shell = this.#tmux('display', '-p', '#{pane_pid}').trim();
    return Number(spawnSync('pgrep', ['-P', shell], { encoding: 'utf8' }).stdout.trim().split('\n')[0]);
  }

  /** Resolves to the screen when it fulfils the condition. */
  async until(
    condition: string | RegExp | ((screen: string) => boolean),
    what = `${condition}`,
    ms = 15_000,
  ): Promise<string> {
    const holds = typeof condition === 'function' ? condition : (text: string) => text.search(condition) >= 0;
    for (const deadline = Date.now() + ms * PATIENCE; ; await delay(30)) {
      const screen = this.screen();
      if (typeof condition === 'string' ? screen.includes(condition) : holds(screen)) return screen;
      if (Date.now() > deadline) throw new Error(`the screen never showed ${what}, but:\n${screen}`);
    }
  }

  /** The terminal is as it was: the main screen, a cursor, a line editor that shows what is typed. Returns the exit code. */
  async restored(): Promise<number> {
    const screen = await this.until(/code \d+/);
    expect(this.modes()).toEqual({ alternate: false, cursor: true });
    this.type('stty -a | grep -o -- "[-]*icanon\\|[-]*echo \\|[-]*isig" | xargs echo modes').press('Enter');
    await this.until(/^modes isig icanon echo/m);
    return Number(/code (\d+)/.exec(screen)?.[1]);
  }

  close(): void {
    spawnSync('tmux', ['-S', this.#socket, 'kill-server']);
  }

  #tmux(...args: string[]): string {
    const { status, stdout, stderr } = spawnSync('tmux', ['-S', this.#socket, ...args], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`tmux ${args.join(' ')}: ${stderr}`);
    return stdout;
  }
}
