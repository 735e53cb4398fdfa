import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The built client: run `npm run build` first. `SVC_TEST_MAIN` and `SVC_TEST_NODE` name another build or Node. */
export const MAIN = process.env.SVC_TEST_MAIN ?? join(process.cwd(), 'dist/cli/main.js');
export const NODE = process.env.SVC_TEST_NODE ?? process.execPath;

export interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: Record<string, string>;
  input?: string | Buffer;
  /** Close our end of its standard output after this many bytes. */
  closeAfter?: number;
}

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'svc-test-'));

/** Runs `svc` as a user would, as a process of its own, with no settings but those given. */
export async function svc(
  args: readonly string[],
  { env = {}, input = '', closeAfter }: RunOptions = {},
): Promise<Result> {
  const clean = { PATH: process.env.PATH ?? '', HOME: temporaryFolder(), TZ: 'UTC' };
  const child = spawn(NODE, [MAIN, ...args], { env: { ...clean, SVC_CONFIG_DIR: join(clean.HOME, 'svc'), ...env } });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (closeAfter !== undefined && stdout.length >= closeAfter) child.stdout.destroy();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number];
  return { code, stdout, stderr };
}
