import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { transformFileSync } from '@swc/core';

export const ROOT = resolve(import.meta.dirname, '..');
const SOURCE = join(ROOT, 'src');

/** Compiles every source file into the folder, and copies all other files beside them. Types are not checked. */
export function compile(folder: string): void {
  for (const file of sources()) {
    if (file.endsWith('.d.ts')) continue;
    const target = join(folder, relative(SOURCE, file));
    mkdirSync(dirname(target), { recursive: true });
    if (file.endsWith('.ts')) writeFileSync(target.replace(/ts$/, 'js'), compiled(file));
    else copyFileSync(file, target);
  }
}

export function sources(): string[] {
  const entries = readdirSync(SOURCE, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

const compiled = (file: string): string => transformFileSync(file, { configFile: join(ROOT, '.swcrc') }).code;
