import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whether this user may mount a tmpfs; says so on standard error where not. */
export function canMountTmpfs(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'control-mount-'));
  try {
    mountTmpfs(folder, 'size=64k');
    execFileSync('umount', [folder]);
    return true;
  } catch {
    process.stderr.write('SKIPPED: the tests of a full disk need Linux and a user who may mount a tmpfs (root)\n');
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function mountTmpfs(folder: string, options: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
}
