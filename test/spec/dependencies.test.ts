import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

interface Locked {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly hasInstallScript?: boolean;
}

const lock = JSON.parse(readFileSync(resolve(ROOT, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>;
};

/** What `npm install --omit dev` brings along. */
const production = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && !dev);

const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

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
