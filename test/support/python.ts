import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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
