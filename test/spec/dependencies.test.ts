import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly hasInstallScript?: boolean;
  /** A workspace of this repository. */
  readonly link?: boolean;
}

const lock = JSON.parse(readFileSync(resolve(ROOT, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>;
};

/** All but this package and the workspaces in it. */
const packages = Object.entries(lock.packages).filter(([path, { link }]) => path.startsWith('node_modules/') && !link);

/** What `npm install --omit dev` brings along. */
const production = packages.filter(([, { dev }]) => !dev);

const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** Where a package that needs another one finds it, as Node looks for it. */
function found(path: string, name: string): Locked | undefined {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const entry = lock.packages[`${at && `${at}/`}node_modules/${name}`];
    if (entry || at === '') return entry;
  }
}

it('the lock names the optional packages of every platform, so that `npm ci` takes it on each', () => {
  const optional = Object.entries(lock.packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).map((name) => ({ path, name })),
  );
  expect(optional.length).toBeGreaterThan(50);
  expect(optional.filter(({ path, name }) => !found(path, name)?.version)).toEqual([]);
});

it('the lock has the digest of every package but optional ones of other platforms', () => {
  const without = packages.filter(([, { integrity }]) => !integrity);
  expect(without.filter(([, { optional }]) => !optional)).toEqual([]);
  expect(production.filter(([, { integrity }]) => !integrity)).toEqual([]);
});

it('no package of production runs a script when it is installed', () => {
  expect(production.length).toBeGreaterThan(100);
  expect(production.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)).toEqual([]);
});

it('no package of production reports installations to others', () => {
  const names = new Set(production.map(([path]) => nameOf(path)));
  expect([...names].filter((name) => /scarf|opencollective|analytics|posthog|sentry|amplitude/.test(name))).toEqual([]);
});

it('the software bill of materials names every package of production', () => {
  const text = execFileSync(process.execPath, ['dist/tools/sbom.js'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: 'pipe',
  });
  const bom = JSON.parse(text) as {
    readonly bomFormat: string;
    readonly components: readonly { readonly name: string }[];
  };
  expect(bom.bomFormat).toBe('CycloneDX');
  const named = new Set(bom.components.map(({ name }) => name));
  expect([...named].sort()).toEqual([...new Set(production.map(([path]) => nameOf(path)))].sort());
});
