import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PATIENCE } from '../support/patience.js';
import { Live } from './support/live.js';
import { NODE, temporaryFolder } from './support/svc.js';

const run = promisify(execFile);

/**
 * Far from what a framework would cost. Measured on a quiet machine: Node 20 takes 1.5 and 1.9 times its own CPU; Node 24, which
 * starts in less than half of that, 2.0 and 3.0 times.
 */
const MOST = { help: 4, get: 3, getNewer: 6 };

let live: Live;
let prefix: string;
let tarball: string;
/** What installing took. */
let tookMs: number;
/** By their version, as far as this machine has them or gets them. */
const nodes = new Map<number, string>();

beforeAll(async () => {
  live = await Live.start();
  prefix = temporaryFolder();
  tarball = (await run(NODE, ['scripts/pack-svc.ts', prefix])).stdout.trim();
  const started = performance.now();
  await run('npm', ['install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', tarball]);
  tookMs = performance.now() - started;
  const folders = (process.env.PATH ?? '').split(':').map((folder) => join(folder, 'node'));
  for (const node of [...folders.filter(existsSync), NODE, await node22()]) {
    if (node === undefined) continue;
    const { stdout } = await run(node, ['--version']);
    nodes.set(Number(/^v(\d+)/.exec(stdout)?.[1]), node);
  }
}, 300_000);
afterAll(() => live.remove());

/** Undefined where no registry is reached, or none has it for this platform. */
async function node22(): Promise<string | undefined> {
  const [name, folder] = [`node-${process.platform}-${process.arch}`, join(prefix, '22')];
  const options = ['--prefix', folder, '--no-audit', '--no-fund', '--prefer-offline'];
  const installed = await run('npm', ['install', ...options, `${name}@22`]).catch(() => undefined);
  return installed && join(folder, 'node_modules', name, 'bin/node');
}

const svc = (node: string, ...args: string[]) =>
  run(node, [join(prefix, 'bin/svc'), ...args], { env: { HOME: prefix, SVC_CONFIG_DIR: prefix, ...live.env } });

it('is one small package without dependencies, with the licenses of what it contains', () => {
  expect(tarball).toMatch(/\/svc-[\d.]+\.tgz$/);
  expect(statSync(tarball).size).toBeLessThan(1_500_000);
  expect(tookMs).toBeLessThan(5_000 * PATIENCE);
  const [modules, name] = [join(prefix, 'lib/node_modules'), '@control-service/svc'];
  expect(readdirSync(modules)).toEqual(['@control-service']);
  const manifest = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8'));
  expect([manifest.dependencies, manifest.optionalDependencies, manifest.scripts]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(existsSync(join(modules, name, 'node_modules'))).toBe(false);
  const notice = readFileSync(join(modules, name, 'NOTICE'), 'utf8');
  for (const bundled of ['clipanion', 'yaml', 'string-width'])
    expect(notice).toMatch(new RegExp(`^${bundled} \\d`, 'm'));
  expect(notice.match(/permission/gi)?.length).toBeGreaterThan(8);
});

it('runs on every Node that is maintained', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  if (!nodes.has(22)) process.stderr.write('\nSKIPPED: svc on Node 22, which npm could not install here\n');
  expect(nodes.size).toBeGreaterThan(1);
  for (const node of nodes.values()) {
    expect((await svc(node, '--version')).stdout).toBe(`${version}\n`);
    expect((await svc(node, 'group', 'get', '-o', 'names')).stdout).toContain('superusers\nviewers\n');
    expect((await svc(node, 'group', 'get', 'viewers', '-o', 'yaml')).stdout).toContain('kind: group\n');
    expect((await svc(node, 'completion', 'bash')).stdout).toContain('complete -F');
    const list = await svc(node, 'audit', 'list', '--context', 'svc', '-o', 'json');
    expect(JSON.parse(list.stdout).items.length).toBeGreaterThan(0);
  }
});

/** Seconds of CPU of a command line, of which bash says more than Node: the least of some runs is that without disturbance. */
async function cpuOf(...words: readonly string[]): Promise<number> {
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: prefix,
    SVC_CONFIG_DIR: prefix,
    TIMEFORMAT: '%3U %3S',
    ...live.env,
  };
  const times: number[] = [];
  for (let count = 0; count < 9; count += 1) {
    const { stderr } = await run('bash', ['-c', 'time "$@" >/dev/null', 'bash', ...words], { env });
    times.push(
      stderr
        .trim()
        .split(' ')
        .reduce((sum, time) => sum + Number(time), 0),
    );
  }
  return Math.min(...times);
}

it('starts with little more CPU than Node alone, for its help and for one group', async () => {
  const program = join(prefix, 'bin/svc');
  for (const [major, node] of nodes) {
    const alone = await cpuOf(node, '-e', '0');
    const help = (await cpuOf(node, program, '--help')) / alone;
    const get = (await cpuOf(node, program, 'group', 'get', 'viewers')) / alone;
    process.stderr.write(
      `CPU of svc over that of Node ${major} alone: help ${help.toFixed(2)}, get ${get.toFixed(2)}\n`,
    );
    expect(help).toBeLessThan(MOST.help);
    expect(get).toBeLessThan(major < 22 ? MOST.get : MOST.getNewer);
  }
});
