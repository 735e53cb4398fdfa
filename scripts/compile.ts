import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '..');
const SOURCE = join(ROOT, 'src');

/** Compiles the sources into the folder, an absolute path, as `nest-cli.json` says. Throws if that fails. Types are not checked. */
export function compile(folder: string): void {
  // `nest build` reads its output folder from a tsconfig.
  const tsconfig = `${folder}.tsconfig.json`;
  writeFileSync(
    tsconfig,
    JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), compilerOptions: { outDir: folder } }),
  );
  try {
    const nest = join(ROOT, 'node_modules/@nestjs/cli/bin/nest.js');
    const built = spawnSync(process.execPath, [nest, 'build', '--path', relative(ROOT, tsconfig)], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    if (built.status !== 0) throw new Error(`nest build failed:\n${built.stdout}${built.stderr}`);
  } finally {
    rmSync(tsconfig);
  }
}

export function sources(): string[] {
  const entries = readdirSync(SOURCE, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
