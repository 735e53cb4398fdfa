import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '..');
const SOURCE = join(ROOT, 'src');

/** Compiles and bundles the sources into the folder, an absolute path. Throws if that fails. Types are not checked. */
export function compile(folder: string): void {
  compileModules(folder);
  run('the bundle', ['--no-warnings', join(ROOT, 'scripts/bundle.ts'), folder]);
}

/** As `nest-cli.json` says. */
function compileModules(folder: string): void {
  // `nest build` reads its output folder from a tsconfig.
  const tsconfig = `${folder}.tsconfig.json`;
  writeFileSync(
    tsconfig,
    JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), compilerOptions: { outDir: folder } }),
  );
  try {
    run('nest build', [
      join(ROOT, 'node_modules/@nestjs/cli/bin/nest.js'),
      'build',
      '--path',
      relative(ROOT, tsconfig),
    ]);
  } finally {
    rmSync(tsconfig);
  }
}

function run(name: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name} failed:\n${stdout}${stderr}`);
}

export function sources(): string[] {
  const entries = readdirSync(SOURCE, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files.filter((file) => !file.startsWith(join(SOURCE, 'client/dist/')));
}
