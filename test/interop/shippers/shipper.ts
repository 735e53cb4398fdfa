import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { PATIENCE } from '../../support/patience.js';

const SAYS_MS = 20_000 * PATIENCE;

/** A shipper that runs, as one process or several, and what they print. */
export class Shipper {
  private readonly processes: ChildProcess[];
  private printed = '';

  constructor(commands: readonly (readonly string[])[], env: Readonly<Record<string, string>>) {
    this.processes = commands.map(([command = '', ...args]) => {
      const child = spawn(command, args, {
        env: { PATH: process.env.PATH, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      for (const stream of [child.stdout, child.stderr]) {
        stream?.setEncoding('utf8').on('data', (text: string) => {
          this.printed += text;
        });
      }
      return child;
    });
  }

  /** Waits until it has printed this. */
  async says(what: RegExp): Promise<void> {
    for (const deadline = Date.now() + SAYS_MS; !what.test(this.printed); await delay(20)) {
      if (Date.now() > deadline) throw new Error(`it did not say ${what}: ${this.printed}`);
    }
  }

  async kill(): Promise<void> {
    const running = this.processes.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    await Promise.all(
      running.map((child) => {
        child.kill('SIGKILL');
        return once(child, 'exit');
      }),
    );
  }
}
