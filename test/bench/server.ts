import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cpuOf } from './processes.ts';

/** The folder of the build that is measured. */
export const DIST = resolve(import.meta.dirname, process.env.BENCH_DIST || '../../dist');

/** A module of the build that is measured, by its place in it. */
export function built<Module>(file: string): Promise<Module> {
  return import(pathToFileURL(join(DIST, file)).href);
}

/** As `npm start` starts the service; the echo runs with the same. */
const FLAGS = ['--no-warnings', '--max-semi-space-size=32'];

export interface Stoppable {
  stop(): Promise<void>;
}

export const stop = (server: Stoppable): Promise<void> => server.stop();

/** What is under load: where it listens, and the CPU time of all its processes. */
export interface Target {
  readonly port: number | readonly number[];
  cpuMs(): number | undefined;
}

/** A server that is measured, in a process of its own. */
export class Server {
  static async start(
    script: string,
    env: Readonly<Record<string, string>> = {},
    flags: readonly string[] = [],
  ): Promise<Server> {
    const { PATH, NODE_OPTIONS } = process.env;
    const child = spawn(process.execPath, [...FLAGS, ...flags, script], {
      env: { PATH, ...(NODE_OPTIONS && { NODE_OPTIONS }), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return new Server(child, await addressOf(child));
  }

  private readonly child: ChildProcess;
  readonly url: string;

  private constructor(child: ChildProcess, url: string) {
    this.child = child;
    this.url = url;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** User and system time of the process so far, in milliseconds; undefined where the system does not tell. */
  cpuMs(): number | undefined {
    return cpuOf(this.child.pid ?? 0);
  }

  /** The resident memory of the process, in MiB. */
  memory(): number {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  }

  /** Of what the process itself has of it, without pages of files. */
  ownMemory(): number {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  }

  /** Bytes that the process has written to files so far, on their way to the disk. */
  written(): number {
    const io = readFileSync(`/proc/${this.child.pid}/io`, 'utf8');
    return Number(/^write_bytes: (\d+)/m.exec(io)?.[1]);
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const ended = new Promise((done) => this.child.once('exit', done));
    this.child.kill(signal);
    await ended;
  }
}

/** What the server says when it listens. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((found, failed) => {
    let said = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-100_000);
      const url = /"url":"([^"]+)"/.exec(said)?.[1];
      if (url !== undefined) found(url);
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-100_000);
    });
    child.once('exit', (code, signal) => failed(new Error(`the server ended (${code ?? signal}): ${said}`)));
  });
}

export const ROOT_KEY = 'bench-root-key-that-opens-nothing-else-0123456789';

/** The service with these settings, on any port. */
export function startProcess(settings: Readonly<Record<string, string>>, flags?: readonly string[]): Promise<Server> {
  const main = join(DIST, 'main.js');
  if (!existsSync(main)) throw new Error(`${main} is missing: build the service first (npm run build)`);
  return Server.start(main, { CONTROL_PORT: '0', CONTROL_ROOT_KEY: ROOT_KEY, ...settings }, flags);
}

export function startService(dataDir: string, flags?: readonly string[]): Promise<Server> {
  return startProcess({ CONTROL_DATA_DIR: dataDir }, flags);
}

/** Makes an organization; answers the key of its service account. */
export async function createOrg(url: string, name: string): Promise<string> {
  const answer = await fetch(`${url}/org`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ROOT_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });
  if (answer.status !== 201) throw new Error(`no organization: ${await answer.text()}`);
  return ((await answer.json()) as { key: string }).key;
}
