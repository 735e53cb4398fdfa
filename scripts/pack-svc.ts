/**
 * Packs `svc` alone, from the build that is there: one package without dependencies, for every Node that is maintained.
 * Prints its path.
 *
 *     node scripts/pack-svc.ts [FOLDER]
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ROOT } from './compile.ts';

const { version, license, homepage, bugs, repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const MANIFEST = {
  name: '@control-service/svc',
  version,
  description: 'The command-line client of the Control Service: users, groups, audit events and access reports',
  ...{ homepage, bugs, repository, license },
  type: 'module',
  engines: { node: '>=20' },
  bin: { svc: 'dist/cli/main.js' },
};

function pack(target: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-package-'));
  try {
    for (const path of ['dist/cli/main.js', 'dist/cli/completion', 'dist/svc', 'LICENSE']) {
      const wanted = (file: string) => !file.includes('completion/') || file.includes('completion/svc.');
      cpSync(join(ROOT, path), join(folder, path), { recursive: true, filter: wanted });
    }
    cpSync(join(ROOT, 'docs/cli/README.md'), join(folder, 'README.md'));
    writeFileSync(join(folder, 'package.json'), JSON.stringify(MANIFEST, null, 2));
    writeFileSync(join(folder, 'NOTICE'), notice(join(folder, 'dist/svc')));
    const args = ['pack', '--json', '--pack-destination', target, folder];
    const [{ filename }] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8' }));
    const file = join(target, `svc-${version}.tgz`);
    renameSync(join(target, filename), file);
    return file;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The licenses of the packages that are bundled. */
function notice(bundle: string): string {
  const packages = new Set<string>();
  for (const file of readdirSync(bundle)) {
    const text = readFileSync(join(bundle, file), 'utf8');
    for (const [, path = ''] of text.matchAll(
      /^\/\/ .*?(node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/\s]+)\//gm,
    )) {
      packages.add(path);
    }
  }
  return [...packages]
    .sort()
    .map(licenseOf)
    .join(`\n${'-'.repeat(80)}\n\n`);
}

function licenseOf(path: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8'));
  const file = readdirSync(join(ROOT, path)).find((each) => /^licen[cs]e/i.test(each));
  const text = file === undefined ? '' : `\n${readFileSync(join(ROOT, path, file), 'utf8')}`;
  return `${name} ${version} (${license})\n${text}`;
}

process.stdout.write(`${pack(resolve(process.argv[2] ?? '.'))}\n`);
