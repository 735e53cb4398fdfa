import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** A Python with these packages, installed once a machine; undefined where Python or its package index is not to be had. */
export function pythonWith(name: string, packages: readonly string[]): string | undefined {
  const folder = join(tmpdir(), `control-${name}`);
  const python = join(folder, 'bin/python');
  if (existsSync(python)) return python;
  const unfinished = mkdtempSync(`${folder}-`);
  try {
    execFileSync('python3', ['-m', 'venv', unfinished], { stdio: 'pipe' });
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages];
    execFileSync(join(unfinished, 'bin/python'), pip, { stdio: 'pipe', timeout: 180_000 });
    renameSync(unfinished, folder);
    return python;
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    process.stderr.write(`SKIPPED: ${packages.join(', ')} cannot be installed: ${(error as Error).message}\n`);
    return undefined;
  }
}

/** What a program writes that is given this input. */
export async function runPython(
  python: string,
  args: readonly string[],
  input: string,
): Promise<{ readonly out: string; readonly err: string }> {
  const child = spawn(python, args);
  child.stdin.end(input);
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { out, err };
}
