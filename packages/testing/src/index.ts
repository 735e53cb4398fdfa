import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createOrg, type TestOrg } from './org.js';

export type { TestOrg };

export interface StartOptions {
  /** Settings of the service besides, such as `{ CONTROL_READS_PER_ORG: '1' }`: its README lists them. */
  readonly env?: Readonly<Record<string, string>>;
  /** The script of the command `control-service`. Default: that of the installed package `control-service`. */
  readonly program?: string;
  /** Default 30 seconds. */
  readonly timeoutMs?: number;
}

/** A running service, with nothing in it. */
export interface ControlService {
  /** Its address, such as `http://127.0.0.1:40123`. */
  readonly endpoint: string;
  /** The key that creates organizations and maintains the service. */
  readonly rootKey: string;
  /** Where its data is. */
  readonly folder: string;
  /** Creates an organization, with a name of its own unless one is given. */
  createOrg(name?: string): Promise<TestOrg>;
  /** Ends the service, and removes what it has recorded. */
  stop(): Promise<void>;
}

/**
 * Starts a service on the embedded store, in a process of its own and in a temporary folder. Resolves when it serves. Rejects if it
 * ends before, with what it wrote, or if it does not serve in time.
 */
export async function startControlService(options: StartOptions = {}): Promise<ControlService> {
  const { env = {}, program = installedProgram(), timeoutMs = 30_000 } = options;
  const folder = mkdtempSync(join(tmpdir(), 'control-service-'));
  const rootKey = `root-${randomUUID()}`;
  const settings = {
    CONTROL_DATA_DIR: folder,
    CONTROL_HOST: '127.0.0.1',
    CONTROL_PORT: '0',
    CONTROL_ROOT_KEY: rootKey,
  };
  const child = spawn(process.execPath, [program, 'start'], {
    // Its log says when it serves.
    env: { ...withoutSettings(process.env), ...settings, ...env, CONTROL_LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const stop = async () => {
    process.removeListener('exit', kill);
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGTERM')) await once(child, 'exit');
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const endpoint = await listening(child, timeoutMs);
    return { endpoint, rootKey, folder, createOrg: (name) => createOrg(endpoint, rootKey, name), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function installedProgram(): string {
  // The package of the service lies beside this one, or beside the tests.
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')]) {
    try {
      return join(dirname(createRequire(from).resolve('control-service/package.json')), 'dist/operator/main.js');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw new Error('the package control-service is not installed; run `npm install --save-dev control-service`');
}

/** Settings of another service, and what the tests were started with, are not for this one. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isOwn = (name: string) => !name.startsWith('CONTROL_') && name !== 'NODE_OPTIONS';
  return Object.fromEntries(Object.entries(env).filter(([name]) => isOwn(name)));
}

/** The address that the service writes to its log when it serves. */
function listening(child: ChildProcess, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (why: string) => reject(new Error(`the service ${why}; it wrote: ${output.slice(-4_000)}`));
    const late = setTimeout(() => fail(`does not serve after ${timeoutMs} ms`), timeoutMs);
    const read = (text: string) => {
      output += text;
      const url = /"url":"([^"]+)","msg":"listening"/.exec(output)?.[1];
      if (url === undefined) return;
      clearTimeout(late);
      // From now on the pipes are emptied, and nothing is kept.
      child.stdout?.removeListener('data', read).resume();
      child.stderr?.removeListener('data', read).resume();
      resolve(url);
    };
    child.stdout?.setEncoding('utf8').on('data', read);
    child.stderr?.setEncoding('utf8').on('data', read);
    child.once('error', (error) => fail(`cannot be started: ${error.message}`));
    child.once('close', (code, signal) => {
      clearTimeout(late);
      fail(`ended (${code ?? signal}) before it served`);
    });
  });
}
