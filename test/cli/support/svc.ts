import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PATIENCE } from '../../support/patience.js';

/** The built client: run `npm run build` first. `SVC_TEST_MAIN` and `SVC_TEST_NODE` name another build or Node. */
export const MAIN = process.env.SVC_TEST_MAIN ?? join(process.cwd(), 'dist/cli/main.js');
export const NODE = process.env.SVC_TEST_NODE ?? process.execPath;

export interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  /** One that is empty is not set. */
  env?: Record<string, string>;
  input?: string | Buffer;
  /** Close our end of its standard output after this many bytes. */
  closeAfter?: number;
}

const folders: string[] = [];

/** A folder that is removed when the tests of the file are through. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
  folders.push(folder);
  return folder;
}

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export interface RunningSvc {
  /** What it has written so far. */
  readonly stdout: string;
  readonly stderr: string;
  readonly ended: Promise<Result>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when what it wrote fulfils the condition. */
  until(condition: (output: { stdout: string; stderr: string }) => boolean): Promise<void>;
}

/** Starts `svc` as a user would, as a process of its own, with no settings but those given. */
export function startSvc(args: readonly string[], { env = {}, input = '', closeAfter }: RunOptions = {}): RunningSvc {
  const clean = { PATH: process.env.PATH ?? '', HOME: temporaryFolder(), TZ: 'UTC' };
  const all = { ...clean, SVC_CONFIG_DIR: join(clean.HOME, 'svc'), ...env };
  const set = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
  const child = spawn(NODE, [MAIN, ...args], { env: set });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
    if (closeAfter !== undefined && output.stdout.length >= closeAfter) child.stdout.destroy();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const ended = once(child, 'close').then(([code]) => ({ code: code as number, ...output }));
  return {
    get stdout() {
      return output.stdout;
    },
    get stderr() {
      return output.stderr;
    },
    ended,
    kill: (signal) => child.kill(signal),
    async until(condition) {
      for (const deadline = Date.now() + 15_000 * PATIENCE; !condition(output); await delay(10)) {
        if (Date.now() > deadline) throw new Error(`svc ${args.join(' ')} wrote only ${JSON.stringify(output)}`);
      }
    },
  };
}

/** Runs it to its end. */
export const svc = (args: readonly string[], options: RunOptions = {}): Promise<Result> =>
  startSvc(args, options).ended;
