import { join } from 'node:path';
import { Api, type OrgBody } from '../support/api.js';
import { Operator } from './support/operator.js';
import { type Client, newClient, openHouse, type TestHouse } from './support/org.js';
import { svc, temporaryFolder } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

let house: TestHouse;
let client: Client;
let other: Client;
let env: Record<string, string>;

beforeAll(async () => {
  house = await openHouse();
  [client, other] = [await newClient(house), await newClient(house)];
});
beforeEach(() => {
  env = { SVC_CONFIG_DIR: join(temporaryFolder(), 'svc'), SVC_ENDPOINT: house.service.url };
});
afterAll(() => house.close());

const login = (key: string, ...args: string[]) => svc(['login', ...args], { env, input: `${key}\n` });
const stored = async () => (await svc(['profile', 'token'], { env })).stdout.trim();

describe('svc login', () => {
  it('checks the key, and stores its organization', async () => {
    const { code, stdout, stderr } = await login(client.org.key);
    expect([code, stdout, stderr]).toEqual([
      ...[0, '', `Logged in to ${client.org.name} as serviceaccount/admin (expires never)\n`],
    ]);
    expect((await svc(['group', 'get', '-o', 'names'], { env })).stdout).toContain('superusers\n');
  });

  it('names when the key expires', async () => {
    const args = ['add-key', 'admin', '--description', 'x', '--expires', '2099-01-01'];
    const { key } = await client.json<{ key: string }>('serviceaccount', ...args);
    expect((await login(key)).stderr).toContain('(expires 2099-01-01T00:00:00.000Z)');
  });

  it('stores nothing that the service does not accept', async () => {
    expect(await login('svc_unknown_key')).toMatchObject({ code: 4, stderr: expect.stringContaining('unknown') });
    expect(await login(client.org.key, '--org', 'elsewhere')).toMatchObject({
      code: 4,
      stderr: `error: the key is one of ${client.org.name}, not of elsewhere\n`,
    });
    expect((await login(client.org.key, '--endpoint', 'http://127.0.0.1:1')).code).toBe(1);
    expect((await svc(['profile', 'get'], { env })).stdout).toBe('');
  });

  it('takes the root key, which has no organization', async () => {
    expect((await login(house.service.rootKey)).stderr).toBe('Logged in as root\n');
    expect((await svc(['whoami', '-o', 'names'], { env })).stdout).toBe('root\n');
  });

  it('replaces a key of another organization only with --force', async () => {
    await login(client.org.key);
    const refused = await login(other.org.key);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`holds a key of ${client.org.name}`)]);
    expect(refused.stderr).toContain('--force');
    expect(await stored()).toBe(client.org.key);
    expect((await login(other.org.key, '--force')).code).toBe(0);
    expect(await stored()).toBe(other.org.key);
    expect((await login(client.org.key, '--profile', 'two')).code).toBe(0);
  });

  withTerminal('asks on a terminal before it does', async () => {
    await login(client.org.key);
    const ask = (reply: string) => svcOnTerminal(`login --token ${other.org.key}`, env, `${reply}\n`, '[y/N] ');
    expect(await ask('n')).toContain('code 1');
    expect(await stored()).toBe(client.org.key);
    expect(await ask('y')).toContain('code 0');
    expect(await stored()).toBe(other.org.key);
  });
});

it('svc logout forgets the key, and says what it does not do', async () => {
  await login(client.org.key);
  const { code, stderr } = await svc(['logout'], { env });
  expect([code, stderr]).toEqual([0, expect.stringContaining('removed the key from profile default')]);
  expect((await svc(['group', 'get'], { env })).code).toBe(4);
  expect((await svc(['logout'], { env })).stderr).toBe('profile default holds no key\n');
  expect((await svc(['logout'], { env: { ...env, SVC_TOKEN: client.org.key } })).stderr).toContain('SVC_TOKEN is set');
});

it('svc status shows the service without a key', async () => {
  const { code, stdout } = await svc(['status'], { env });
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^endpoint: {2}http.*\nprofile: .*\nversion: {3}\d.*\nready: {5}yes\nlag: {7}\d+\n$/),
  ]);
  const { stdout: json } = await svc(['status', '-o', 'json'], { env });
  expect(JSON.parse(json)).toMatchObject({ kind: 'status', ready: true, missing: [], lag: expect.any(Number) });
  expect((await svc(['status', '--endpoint', 'http://127.0.0.1:1'], { env })).code).toBe(1);
});

describe('a value that is empty', () => {
  it.each(['--token', '--org', '--profile', '--endpoint'])('of %s is a usage error', async (option) => {
    const { code, stderr } = await client.run(['group', 'get', option, '']);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${option} is empty`)]);
  });

  it.each(['SVC_TOKEN', 'SVC_ORG', 'SVC_ENDPOINT', 'SVC_PROFILE'])('of %s is a usage error', async (name) => {
    const { code, stderr } = await new Operator({ ...env }).run(`${name}= svc group get`);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${name} is empty`)]);
  });
});

describe('a key that is shown once', () => {
  const addKey = ['serviceaccount', 'add-key', 'admin', '--description', 'x'];

  it.each(['text', 'json', 'json-slim', 'yaml', 'yaml-slim', 'names'])('is in what -o %s prints', async (format) => {
    for (const quiet of [[], ['-q']]) {
      const { stdout, stderr } = await client.run([...addKey, '-o', format, ...quiet]);
      const [key = ''] = /svc_[\w-]{20,}/.exec(format === 'names' ? stderr : stdout) ?? [];
      expect(stderr).toContain('warning: the key is shown only once');
      expect((await client.run(['whoami', '-o', 'names', '--token', key])).stdout).toBe('admin\n');
    }
  });

  it('of a new organization too', async () => {
    const root = { SVC_ENDPOINT: house.service.url, SVC_TOKEN: house.service.rootKey };
    const { stdout, stderr } = await svc(['org', 'create', '--name', 'named-only', '-o', 'names'], { env: root });
    expect(stdout).toBe('named-only\n');
    const [key = ''] = /svc_[\w-]{20,}/.exec(stderr) ?? [];
    expect((await new Api(house.service.url, key).get<OrgBody>('/org/named-only')).status).toBe(200);
  });
});
