import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type ServiceProcess, spawnService } from '../faults/process.js';

/** A copy of the build, without any package. */
let folder: string;
let service: ServiceProcess | undefined;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'control-bundle-'));
  for (const name of ['dist', 'package.json']) cpSync(resolve(name), join(folder, name), { recursive: true });
});
afterEach(() => service?.end('SIGKILL'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const cache = () => join(folder, '.compile-cache');

/** Starts the copy on an empty folder, checks that it serves, and stops it. */
async function serves(data: string): Promise<void> {
  service = spawnService(join(folder, 'dist/main.js'), join(folder, data));
  const { status } = await fetch(`${await service.listening}/health/ready`);
  expect(status).toBe(200);
  expect((await service.end('SIGTERM')).code).toBe(0);
}

it('serves without its packages, and keeps compiled code for the next start, for this user alone', async () => {
  await serves('data');
  const kept = readdirSync(cache(), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(kept.length).toBeGreaterThan(0);
  const shared = [cache(), ...kept.map(({ parentPath, name }) => join(parentPath, name))].filter(
    (path) => (statSync(path).mode & 0o077) !== 0,
  );
  expect(shared).toEqual([]);
});

it('serves where compiled code cannot be kept', async () => {
  rmSync(cache(), { recursive: true, force: true });
  writeFileSync(cache(), 'a file, and no folder');
  await serves('other-data');
});

it('bundles the commands, which then need no package either', () => {
  // Within the repository, where the bundler finds the packages.
  const place = mkdtempSync(resolve('.dist-commands-'));
  try {
    cpSync(resolve('dist'), place, { recursive: true });
    execFileSync(process.execPath, ['--no-warnings', resolve('scripts/bundle.ts'), '--commands', place]);
    cpSync(join(place, 'bin'), join(folder, 'dist/bin'), { recursive: true });
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
  const run = (program: string, ...args: string[]) =>
    execFileSync(process.execPath, [join(folder, 'dist', program), ...args], { encoding: 'utf8' });
  expect(run('cli/main.js', 'group', '--help')).toContain('group add-member');
  expect(run('cli/main.js', 'completion', 'bash')).toContain('complete -F');
  expect(run('bin/control-service.js', 'restore', '--help')).toContain('--data-dir');
});
