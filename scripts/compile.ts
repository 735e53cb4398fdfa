import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '..');
const SOURCE = join(ROOT, 'src');

/** Compiles the sources into the folder as `nest-cli.json` says. Throws if that fails. Types are not checked. */
export function compile(folder: string): void {
  // `nest build` reads its output folder from a tsconfig.
  const tsconfig = `${basename(folder)}.tsconfig.json`;
  const outDir = `./${basename(folder)}`;
  writeFileSync(join(ROOT, tsconfig), JSON.stringify({ extends: './tsconfig.json', compilerOptions: { outDir } }));
  try {
    const nest = join(ROOT, 'node_modules/@nestjs/cli/bin/nest.js');
    const built = spawnSync(process.execPath, [nest, 'build', '--path', tsconfig], { cwd: ROOT, encoding: 'utf8' });
    if (built.status !== 0) throw new Error(`nest build failed:\n${built.stdout}${built.stderr}`);
  } finally {
    rmSync(join(ROOT, tsconfig));
  }
}

export function sources(): string[] {
  const entries = readdirSync(SOURCE, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
