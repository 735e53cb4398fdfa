import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Live } from './support/live.js';
import { temporaryFolder } from './support/svc.js';

const run = promisify(execFile);

/** The Node that operators have, where there is one beside that of the tests. */
const NODES = [
  ...new Set([
    ...(process.env.PATH ?? '')
      .split(':')
      .filter((folder) => !folder.includes('node_modules'))
      .map((folder) => join(folder, 'node'))
      .filter(existsSync)
      .slice(0, 1),
    process.execPath,
  ]),
];

/** What the client needs of what the package depends on; all else is the server's. */
const OF_THE_CLIENT = ['clipanion', 'env-paths', 'string-width', 'yaml'];

let live: Live;
let prefix: string;
/** Paths within the package. */
let packed: string[];

beforeAll(async () => {
  live = await Live.start();
  prefix = temporaryFolder();
  // The build that is tested is the one that is packed: nothing is built anew beneath the other tests.
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', prefix]);
  const [{ filename, files }] = JSON.parse(stdout);
  packed = files.map(({ path }: { path: string }) => path);
  const options = [
    '--prefix',
    prefix,
    '--omit=optional',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
  ];
  await run('npm', ['install', '--global', ...options, join(prefix, filename)]);
}, 300_000);
afterAll(() => live.remove());

const svc = (node: string, args: readonly string[], env: Record<string, string> = {}) =>
  run(node, [join(prefix, 'bin/svc'), ...args], {
    env: { HOME: prefix, SVC_CONFIG_DIR: prefix, ...live.env, ...env },
    maxBuffer: 1 << 28,
  });

it('the package holds what runs, and no tools of the build', () => {
  expect(packed).toEqual(expect.arrayContaining(['dist/operator/main.js', 'dist/swagger-ui/swagger-ui.css']));
  const isMap = (path: string) => path.endsWith('.map');
  expect(packed.filter((path) => path.startsWith('dist/tools/') || isMap(path))).toEqual([]);
});

it('the package holds what runs, and no sources or tests', () => {
  expect(packed).toEqual(
    expect.arrayContaining(['package.json', 'README.md', 'LICENSE', 'dist/cli/main.js', 'dist/main.js']),
  );
  expect(packed.filter((path) => !/^(dist\/|docs\/|package\.json$|README\.md$|LICENSE$|NOTICE$)/.test(path))).toEqual(
    [],
  );
});

describe.each(NODES)('installed from its package, on %s', (node) => {
  it('svc runs', async () => {
    const { version } = JSON.parse((await run(node, ['-p', "JSON.stringify(require('./package.json'))"])).stdout);
    expect((await svc(node, ['--version'])).stdout).toBe(`${version}\n`);
    expect((await svc(node, ['group', '--help'])).stdout).toContain('group create');
    expect((await svc(node, ['group', 'get', '-o', 'names'])).stdout).toContain('superusers\nviewers\n');
  });

  it('control-service says its version', async () => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8'));
    for (const word of ['--version', 'version']) {
      expect((await run(node, [join(prefix, 'bin/control-service'), word])).stdout).toBe(`${version}\n`);
    }
  });

  // An old Node passes these on to the one that the package brings along.
  it('control-service starts the service, backs it up and restores the backup', async () => {
    const command = join(prefix, 'bin/control-service');
    const folder = temporaryFolder();
    const env = { PATH: process.env.PATH ?? '', CONTROL_DATA_DIR: join(folder, 'data'), CONTROL_PORT: '0' };
    const service = spawn(node, [command, 'start'], { env });
    const ended = new Promise((resolve) => service.on('exit', resolve));
    const backup = join(folder, 'log-backup.db');
    try {
      const SVC_ENDPOINT = await listening(service);
      await run(node, [command, 'backup', '--to', backup], { env: { ...env, SVC_ENDPOINT } });
    } finally {
      service.kill('SIGTERM');
    }
    expect(await ended).toBe(0);
    const restore = [command, 'restore', '--from', backup, '--data-dir', join(folder, 'restored')];
    expect((await run(node, restore, { env })).stderr).toContain('restored ');
  });

  it.each(['group get -o yaml', 'user get -o crd', 'group get -o tf'])(
    'svc %s loads nothing of the server',
    async (line) => {
      const { stderr } = await svc(node, line.split(' '), { NODE_DEBUG: 'module,esm' });
      expect(stderr).not.toContain('control-service/node_modules/');
      const parts = new Set(
        Array.from(stderr.matchAll(/\/control-service\/(dist\/svc\/[\w.-]+\.js)/g), ([, part = '']) => part),
      );
      const texts = await Promise.all(
        Array.from(parts, (part) => readFile(join(prefix, 'lib/node_modules/control-service', part), 'utf8')),
      );
      const bundled = texts.flatMap((each) =>
        Array.from(each.matchAll(/^\/\/ .*node_modules\/((?:@[\w-]+\/)?[\w.-]+)/gm), ([, name]) => name),
      );
      expect(bundled).toContain('clipanion');
      expect(
        bundled.filter((name) => /nestjs|fastify|kafka|elastic|pino|rxjs|reflect-metadata/.test(name ?? '')),
      ).toEqual([]);
    },
  );
});

/** The address of the service, once its log names it. */
function listening(service: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let log = '';
    service.on('exit', (code) => reject(new Error(`the service ended with ${code}`)));
    service.stdout?.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      const url = /"url":"(http[^"]+)"/.exec(log)?.[1];
      if (url) resolve(url);
    });
  });
}

it('needs no dependency of the server', async () => {
  const modules = join(prefix, 'lib/node_modules/control-service/node_modules');
  const needed = new Set(await closure(modules, OF_THE_CLIENT));
  for (const name of await packagesIn(modules)) {
    if (!needed.has(name)) await rm(join(modules, name), { recursive: true });
  }
  expect(existsSync(join(modules, '@nestjs/core'))).toBe(false);
  for (const node of NODES) {
    for (const format of ['text', 'json', 'yaml', 'tf', 'crd', 'names']) {
      expect((await svc(node, ['group', 'get', 'viewers', '-o', format])).stdout).toContain('viewers');
    }
    await svc(node, ['group', 'create', '--name', live.name('made'), '--tag', 'a=b']);
    await svc(node, ['group', 'eventlog', 'viewers']);
    await svc(node, ['group', 'access-report', 'viewers']);
    await svc(node, ['group', 'edit', 'viewers'], { EDITOR: 'true', PATH: process.env.PATH ?? '' });
    await svc(node, ['audit', 'publish', '--resource-name', 'x']);
    await svc(node, ['profile', 'create', live.name('profile')]);
  }
});

async function packagesIn(modules: string): Promise<string[]> {
  const names = await readdir(modules);
  const scopes = await Promise.all(
    names.map(async (name) =>
      name.startsWith('@') ? (await readdir(join(modules, name))).map((one) => `${name}/${one}`) : [name],
    ),
  );
  return scopes.flat().filter((name) => !name.startsWith('.'));
}

/** The packages, and all that they depend on. */
async function closure(modules: string, names: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const pending = [...names]; pending.length > 0; ) {
    const name = pending.pop() as string;
    if (found.has(name) || !existsSync(join(modules, name))) continue;
    found.add(name);
    const { dependencies = {} } = JSON.parse(await readFile(join(modules, name, 'package.json'), 'utf8'));
    pending.push(...Object.keys(dependencies));
  }
  return [...found];
}
