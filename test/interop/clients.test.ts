import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ControlService, startControlService } from '../../packages/testing/src/index.js';
import { ROOT } from '../../scripts/compile.js';
import { FULL } from '../hardening/scale.js';
import { withTool } from '../support/tools.js';

/*
 * Clients that openapi-generator makes of `docs/openapi.json`: each publishes an event and reads it back, by its identifier and
 * in a list.
 */

const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'control-service/clients');
const PROGRAMS = join(ROOT, 'test/interop/clients');

const folder = mkdtempSync(join(tmpdir(), 'control-clients-'));
let service: ControlService;

beforeAll(async () => {
  service = await startControlService({ program: join(ROOT, 'dist/operator/main.js') });
});
afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What the program printed. */
async function run(cwd: string, program: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { cwd, maxBuffer: 1 << 26 });
  return stdout;
}

/** The folder of the client in this language. */
async function generated(language: string, ...options: readonly string[]): Promise<string> {
  const client = join(folder, language);
  const parts = '--global-property=apiTests=false,modelTests=false,apiDocs=false,modelDocs=false';
  const input = join(ROOT, 'docs/openapi.json');
  await run(folder, 'openapi-generator', 'generate', '-i', input, '-g', language, '-o', client, parts, ...options);
  return client;
}

/** Runs the program with the address of the service, and an organization and key of its own. */
async function expectRoundTrip(cwd: string, program: string, ...args: readonly string[]): Promise<void> {
  const { endpoint, org, key } = await service.createOrg();
  const found = JSON.parse(await run(cwd, program, ...args, endpoint, org, key));
  expect(found).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), read: 'of-a-client', listed: [found.id] });
}

withTool('openapi-generator', 'version')('a client made of the OpenAPI document', () => {
  test('in Python publishes and reads', async () => {
    const client = await generated('python');
    const python = join(CACHE, 'python/bin/python');
    await run(folder, 'python3', '-m', 'venv', join(CACHE, 'python'));
    await run(client, python, '-m', 'pip', 'install', '-q', '--disable-pip-version-check', '-r', 'requirements.txt');
    cpSync(join(PROGRAMS, 'client.py'), join(client, 'client.py'));
    await expectRoundTrip(client, python, 'client.py');
  });

  test('in Go publishes and reads', async () => {
    const client = await generated('go');
    await run(client, 'go', 'mod', 'edit', '-module=example.com/control-service/client');
    mkdirSync(join(client, 'program'));
    cpSync(join(PROGRAMS, 'main.go'), join(client, 'program/main.go'));
    await run(client, 'go', 'build', '-mod=mod', '-o', 'run', './program');
    await expectRoundTrip(client, './run');
  });

  // It takes as long as the two others together.
  (FULL ? test : test.skip)('in Java publishes and reads', async () => {
    const client = await generated('java', '--library=native');
    const jars = join(CACHE, 'java');
    await run(
      client,
      'mvn',
      '-q',
      '-B',
      'dependency:copy-dependencies',
      '-DincludeScope=compile',
      `-DoutputDirectory=${jars}`,
    );
    const sources = globSync('src/main/java/**/*.java', { cwd: client });
    const classes = `${jars}/*:out`;
    await run(
      client,
      'javac',
      '-nowarn',
      '-proc:none',
      '-d',
      'out',
      '-cp',
      `${jars}/*`,
      ...sources,
      join(PROGRAMS, 'Main.java'),
    );
    await expectRoundTrip(client, 'java', '-cp', classes, 'Main');
  });
});
