/**
 * Builds `dist`. The new build is made beside the old one and takes its place when it is whole, so a service that runs from
 * `dist` never loads a part of it.
 *
 *     node scripts/build.ts            builds
 *     node scripts/build.ts --check    builds nothing: fails if there is no build, warns if it is older than the sources
 */
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { compile, ROOT, sources } from './compile.ts';

const DIST = join(ROOT, 'dist');

/** The commands of the package. */
const BINS = ['cli/main.js', 'operator/main.js'];

/**
 * What the page at `/docs` is made of. Only these files of the package are taken: the package itself depends on one that
 * reports every installation to a third party.
 */
const PAGE_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'LICENSE', 'NOTICE'];

function build(): void {
  const next = mkdtempSync(join(ROOT, '.dist-'));
  try {
    compile(next);
    for (const bin of BINS) chmodSync(join(next, bin), 0o755);
    copyPageFiles(join(next, 'swagger-ui'));
    chmodSync(next, 0o755);
    replace(next);
  } catch (error) {
    rmSync(next, { recursive: true, force: true });
    throw error;
  }
}

function copyPageFiles(folder: string): void {
  const packages = createRequire(import.meta.url);
  mkdirSync(folder);
  for (const name of PAGE_FILES) copyFileSync(packages.resolve(`swagger-ui-dist/${name}`), join(folder, name));
}

/** Two renames: for a moment there is no `dist`, and never a part of one. */
function replace(next: string): void {
  const former = `${next}-former`;
  if (existsSync(DIST)) renameSync(DIST, former);
  renameSync(next, DIST);
  rmSync(former, { recursive: true, force: true });
  // What a start keeps of the former build (`starter.js`).
  rmSync(join(ROOT, '.compile-cache'), { recursive: true, force: true });
}

/** A start builds nothing, because a service may run from this build. */
function check(): void {
  if (!existsSync(join(DIST, 'main.js'))) {
    process.stderr.write('there is no build in dist: run `npm run build`, then start again\n');
    process.exitCode = 1;
    return;
  }
  const built = statSync(join(DIST, 'main.js')).mtimeMs;
  const changed = sources().find((file) => statSync(file).mtimeMs > built);
  if (changed === undefined) return;
  process.stderr.write(`${relative(ROOT, changed)} is newer than dist; run \`npm run build\` for a new build\n`);
}

if (process.argv.includes('--check')) check();
else build();
