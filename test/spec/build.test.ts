import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A project of three small programs, with the build scripts of this one. */
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'control-build-'));
  for (const name of ['scripts', '.swcrc', 'nest-cli.json', 'tsconfig.json', 'package.json'])
    cpSync(resolve(name), join(folder, name), { recursive: true });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  for (const name of ['main.ts', 'cli/main.ts', 'operator/main.ts']) {
    mkdirSync(join(folder, 'src', name, '..'), { recursive: true });
    writeSource(name, 'export const build: number = 1;\n');
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const writeSource = (name: string, text: string) => writeFileSync(join(folder, 'src', name), text);
const built = () => readFileSync(join(folder, 'dist/bundle/main.js'), 'utf8');
const leftovers = () => readdirSync(folder).filter((name) => name.startsWith('.dist'));

function build(...args: string[]): { status: number | null; stderr: string } {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.ts', ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stderr };
}

it('is asked for by a start that finds none', () => {
  expect(build('--check')).toEqual({ status: 1, stderr: expect.stringContaining('run `npm run build`') });
});

it('takes the place of the one before', () => {
  expect(build()).toEqual({ status: 0, stderr: '' });
  writeSource('main.ts', 'export const build: number = 2;\n');
  expect(build().status).toBe(0);
  expect(built()).toContain('build = 2');
  expect([build('--check'), leftovers()]).toEqual([{ status: 0, stderr: '' }, []]);
});

it('keeps maps of the bundle that name the sources, and lets a module find files beside its source', () => {
  writeSource('cli/place.ts', 'export const place = import.meta.url;\n');
  writeSource('main.ts', "import { place } from './cli/place.js';\n\nthrow new Error('it is ' + place);\n");
  expect(build().status).toBe(0);
  const { stderr } = spawnSync(process.execPath, ['dist/main.js'], { cwd: folder, encoding: 'utf8' });
  expect(stderr).toContain(`it is ${pathToFileURL(join(folder, 'dist/cli/place.js'))}`);
  const [, line, column] = /dist\/bundle\/main\.js:(\d+):(\d+)/.exec(stderr) ?? [];
  const map = new SourceMap(JSON.parse(readFileSync(join(folder, 'dist/bundle/main.js.map'), 'utf8')));
  const source = map.findEntry(Number(line) - 1, Number(column) - 1);
  expect(source).toMatchObject({ originalSource: expect.stringMatching(/src\/main\.ts$/), originalLine: 2 });
  writeSource('main.ts', 'export const build: number = 2;\n');
  expect(build().status).toBe(0);
});

it('leaves the one before whole if it fails', () => {
  writeSource('operator/main.ts', 'export const = ;\n');
  writeSource('main.ts', 'export const build: number = 3;\n');
  expect(build().status).not.toBe(0);
  expect(built()).toContain('build = 2');
  expect(leftovers()).toEqual([]);
});

it('is started with a warning if the sources are newer', () => {
  const later = new Date(Date.now() + 60_000);
  utimesSync(join(folder, 'src/main.ts'), later, later);
  expect(build('--check')).toEqual({ status: 0, stderr: expect.stringContaining('src/main.ts is newer than dist') });
});
