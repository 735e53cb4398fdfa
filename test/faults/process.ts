import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { compile, ROOT } from '../../scripts/compile.js';

/** The built service, or the one that `CONTROL_TEST_MAIN` names: a damaged copy of it shows that a test can fail. */
export function builtMain(): string {
  const file = resolve(ROOT, process.env.CONTROL_TEST_MAIN || 'dist/main.js');
  if (!existsSync(file)) throw new Error(`${file} is missing: build the service first (npm run build)`);
  return file;
}

let compiled: string | undefined;

/** The sources as they stand, compiled beside the build, so that no test passes or fails by an old one. */
export function compiledMain(): string {
  if (process.env.CONTROL_TEST_MAIN) return builtMain();
  compiled ??= compiledIn(mkdtempSync(join(tmpdir(), 'control-compiled-')));
  return compiled;
}

/** Call it when the last process has ended. */
export function removeCompiled(): void {
  if (compiled !== undefined && !process.env.CONTROL_TEST_MAIN) rmSync(resolve(compiled, '../..'), { recursive: true });
  compiled = undefined;
}

function compiledIn(folder: string): string {
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  symlinkSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  compile(join(folder, 'dist'));
  return join(folder, 'dist/main.js');
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ServiceProcess {
  readonly pid: number;
  /** Its address, once it serves. Rejects when it ends before. */
  readonly listening: Promise<string>;
  readonly exit: Promise<Exit>;
  kill(signal: NodeJS.Signals): void;
  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<Exit>;
}

/** The service as an operator runs it: a process of its own, on any free port, with so many descriptors at most. */
export function spawnService(
  main: string,
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
  descriptors?: number,
): ServiceProcess {
  const node = [process.execPath, '--no-warnings', main];
  const limited = ['sh', '-c', `ulimit -n ${descriptors} && exec "$@"`, 'sh', ...node];
  const [command = '', ...args] = descriptors === undefined ? node : limited;
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, CONTROL_DATA_DIR: dataDir, CONTROL_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const listening = Promise.withResolvers<string>();
  listening.promise.catch(() => undefined);
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    const line = stdout.split('\n').find((one) => one.includes('"msg":"listening"') && one.endsWith('}'));
    if (line) listening.resolve((JSON.parse(line) as { url: string }).url);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exit = new Promise<Exit>((done) => {
    // "close" comes after the last output.
    child.once('close', (code, signal) => {
      listening.reject(new Error(`the service ended (${code ?? signal}) before it served: ${stderr || stdout}`));
      done({ code, signal, stdout, stderr });
    });
  });
  return {
    pid: child.pid ?? 0,
    listening: listening.promise,
    exit,
    kill: (signal) => void child.kill(signal),
    end(signal) {
      child.kill(signal);
      return exit;
    },
  };
}
