import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Api, Org } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../..');

/** The Node that users have, where there is one beside that of the tests. */
const USUAL = (process.env.PATH ?? '')
  .split(':')
  .filter((folder) => !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find(existsSync);
const NODES = [...new Set([USUAL ?? process.execPath, process.execPath])];

/** The blocks of the README in a language. */
const examples = (language: string): string[] =>
  [...readFileSync(join(ROOT, 'src/client/README.md'), 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter(([, name]) => name === language)
    .map(([, , text]) => text as string);

let service: TestService;
let org: Org;
/** A project with the package installed. */
let folder: string;

beforeAll(async () => {
  service = await startService();
  const { body } = await new Api(service.url, service.rootKey).post<{ key: string }>('/org', { name: 'acme' });
  org = new Org(service.url, 'acme', body.key);
  folder = mkdtempSync(join(tmpdir(), 'client-package-'));
  const { stdout } = await run('npm', ['pack', '--workspace', 'src/client', '--json', '--pack-destination', folder], {
    cwd: ROOT,
  });
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('[')));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, filename)], { cwd: folder });
}, 300_000);
afterAll(async () => {
  await service.remove();
  rmSync(folder, { recursive: true });
});

it('installs without another package', () => {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  expect(Object.keys(packages)).toEqual(['', 'node_modules/@control-service/client']);
});

it('has its own modules alone, in at most 1,200 lines of code', () => {
  const sources = readdirSync(join(ROOT, 'src/client')).filter((name) => name.endsWith('.ts'));
  const shipped = readdirSync(join(folder, 'node_modules/@control-service/client/dist'), { recursive: true });
  const names = sources.flatMap((name) => [name.replace('.ts', '.d.ts'), name.replace('.ts', '.js')]);
  expect(shipped.map(String).sort()).toEqual([...names, 'LICENSE'].sort());
  const lines = sources
    .filter((name) => name !== 'api-types.ts')
    .flatMap((name) => readFileSync(join(ROOT, 'src/client', name), 'utf8').split('\n'));
  const code = lines.filter((line) => !/^\s*(\/\/|\/?\*|$)/.test(line));
  expect(code.length).toBeLessThanOrEqual(1_200);
});

it('can be required from CommonJS on a new Node', async () => {
  const script = "console.log(typeof require('@control-service/client').AuditClient)";
  const { stdout } = await run(process.execPath, ['--input-type=commonjs', '-e', script], { cwd: folder });
  expect(stdout).toBe('function\n');
});

const OUTPUT = [
  [/^here is your order\n/],
  [/^create\nvalidation_failed \[/],
  [/^\S+Z 43 .*\n\S+Z 43 .*\n(.*\n)*new: 44\n$/],
] as const;

describe.each(NODES)('on %s', (node) => {
  it.each(examples('js').map((text, index) => ({ index, text })))('example $index of the README runs', async (one) => {
    const file = join(folder, `example-${one.index}.js`);
    writeFileSync(file, one.text);
    const env = { AUDIT_ENDPOINT: service.url, AUDIT_KEY: org.key };
    const { stdout, stderr } = await run(node, [file], { cwd: folder, env });
    expect(stderr).toBe('');
    for (const pattern of OUTPUT[one.index] as readonly RegExp[]) expect(stdout).toMatch(pattern);
  });

  it('what the handler of the README recorded is with the service', async () => {
    const { items } = (await org.list({ contextName: 'orders', resourceId: '42' })).body;
    expect(items[0]).toMatchObject({ action: { type: 'read' }, subject: { email: 'ann@example.com' } });
  });
});

it('its types hold in a project of TypeScript, those for Nest too', async () => {
  const modules = join(folder, 'node_modules');
  for (const name of ['@nestjs', '@types', 'rxjs', 'reflect-metadata', 'undici-types']) {
    if (!existsSync(join(modules, name))) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
  mkdirSync(join(folder, 'sample'));
  examples('ts').forEach((text, index) => void writeFileSync(join(folder, `sample/${index}.ts`), text));
  // A wrong use must not compile: else the types would be no types.
  const wrong = `import { AuditClient } from '@control-service/client';
declare const audit: AuditClient;
// @ts-expect-error: an event has a resource
audit.record({ action: { type: 'x' } });
// @ts-expect-error: there is no such mode
audit.publish({ resource: { id: '1' } }, { wait: 'forever' });
for await (const { resource } of audit.list({ resourceName: 'a' })) resource.name?.toUpperCase();
`;
  writeFileSync(join(folder, 'sample/wrong.ts'), wrong);
  const compilerOptions = {
    ...{ strict: true, noEmit: true, module: 'nodenext', target: 'es2022', types: ['node'], skipLibCheck: true },
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['sample'] }));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout } = await run(process.execPath, [compiler, '--project', folder]).catch((failed) => failed);
  expect(stdout).toBe('');
});
