import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
}

interface Bom {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

interface Lock {
  readonly name: string;
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly dev?: boolean }>>;
}

const ROOT = new URL('../../', import.meta.url);

/**
 * Prints the software bill of materials of production, in CycloneDX: what `npm sbom` says, limited to what the lock file
 * has for production. Its own `--omit dev` leaves out what development needs as well, the framework among it.
 */
function main(): void {
  const lock = JSON.parse(readFileSync(new URL('package-lock.json', ROOT), 'utf8')) as Lock;
  const bom = JSON.parse(npmSbom()) as Bom;
  const production = productionOf(lock);
  const components = bom.components.filter(({ name, version }) => production.has(`${name}@${version}`));
  const kept = new Set([bom.metadata.component, ...components].map((component) => component['bom-ref']));
  const dependencies = bom.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) }));
  const metadata = { ...bom.metadata, component: { ...bom.metadata.component, name: lock.name } };
  process.stdout.write(`${JSON.stringify({ ...bom, metadata, components, dependencies }, null, 2)}\n`);
}

function npmSbom(): string {
  const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  return execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 });
}

/** Name and version of every package that production needs. */
function productionOf({ packages }: Lock): ReadonlySet<string> {
  const needed = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
  const nameAt = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  return new Set(needed.map(([path, { version }]) => `${nameAt(path)}@${version}`));
}

main();
