/**
 * Runs the tests of a project of `examples` with the packages of this repository that it depends on as they would be
 * published: packed, and unpacked beside a copy of the project. The service itself is this repository, as it is built, and
 * the others are those that it has installed, so that nothing is downloaded.
 *
 *     npm run example jest-testcontainers
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './compile.ts';

const OWN: Readonly<Record<string, string>> = {
  '@control-service/client': 'src/client',
  '@control-service/testing': 'packages/testing',
};

const example = join(ROOT, 'examples', process.argv[2] ?? '');
const folder = mkdtempSync(join(tmpdir(), 'control-example-'));
const { dependencies, devDependencies } = JSON.parse(readFileSync(join(example, 'package.json'), 'utf8'));
try {
  cpSync(example, folder, { recursive: true, filter: (path) => !path.endsWith('node_modules') });
  for (const name of Object.keys({ ...dependencies, ...devDependencies })) provide(name);
  execFileSync('npm', ['test', '--silent'], { cwd: folder, stdio: 'inherit' });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function provide(name: string): void {
  const source = OWN[name];
  const place = join(folder, 'node_modules', name);
  if (source === undefined) {
    return symlinkSync(name === 'control-service' ? ROOT : join(ROOT, 'node_modules', name), place);
  }
  const options = ['pack', '--silent', '--json', '--pack-destination', folder];
  const packed = execFileSync('npm', options, { cwd: join(ROOT, source), encoding: 'utf8' });
  const [{ filename }] = JSON.parse(packed);
  mkdirSync(place, { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, filename), '-C', place, '--strip-components', '1']);
}
