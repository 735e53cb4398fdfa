import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAMILIES } from '../../src/cli/commands/families.js';
import { newOrg, type Org } from '../support/api.js';
import { type Mailbox, newUser, openMailbox } from '../support/mail.js';
import { PATIENCE } from '../support/patience.js';
import { Resources } from '../support/resources.js';
import { startService, type TestService } from '../support/service.js';
import { answer, closeServers, scriptedServer } from './support/scripted-server.js';
import { svc, temporaryFolder } from './support/svc.js';

/** What is offered for the last of the words; whatever happens, nothing else is said. */
async function offered(words: readonly string[], env: Record<string, string> = {}): Promise<string[]> {
  const { code, stdout, stderr } = await svc(['__complete', ...words], { env });
  expect([code, stderr]).toEqual([0, '']);
  return stdout.split('\n').filter(Boolean);
}

const valuesOf = (lines: readonly string[]): string[] => lines.map((line) => line.split('\t')[0] ?? '');
const values = async (words: readonly string[], env: Record<string, string> = {}): Promise<string[]> =>
  valuesOf(await offered(words, env));

afterEach(closeServers);

describe('what the program itself knows', () => {
  it('families and help; nothing that is hidden', async () => {
    expect(await values([''])).toEqual([...FAMILIES.keys(), 'help']);
    expect(await values([])).toEqual([...FAMILIES.keys(), 'help']);
    expect(await offered(['prof'])).toEqual(['profile\tmanage profiles: who you are and where calls go']);
    expect(await values(['__'])).toEqual([]);
  });

  it.each([...FAMILIES.keys()])('every command of %s, with all its options', async (family) => {
    const help = async (...words: string[]) => (await svc([...words, '--help'])).stdout;
    const leaves = await values([family, '']);
    const listed = await help(family);
    for (const leaf of leaves) expect(listed).toContain(`${family} ${leaf} `);
    for (const path of leaves.length > 0 ? leaves.map((leaf) => [family, leaf]) : [[family]]) {
      const own = (await help(...path)).matchAll(/^ {2}(-\S.*?)(?: <value>)? {2}/gm);
      const names = [...own].flatMap(([, text = '']) => text.split(', ')).sort();
      expect(names.length).toBeGreaterThan(3);
      expect((await values([...path, '-'])).sort()).toEqual(names);
    }
  });

  it.each([
    [['profile', 's'], ['set-default']],
    [['help', 'prof'], ['profile']],
    [['help', 'exit'], ['exit-codes']],
    [['help', 'profile', 'set'], ['set-default']],
    [
      ['org', 'get', '-o', 'json'],
      ['json', 'json-slim'],
    ],
    [
      ['org', 'get', '-ko', 'json'],
      ['json', 'json-slim'],
    ],
    [
      ['org', 'get', '--output=json'],
      ['--output=json', '--output=json-slim'],
    ],
    [['-o', 'json-'], ['json-slim']],
    [['-o', 'json', 'org', 'g'], ['get']],
    [
      ['org', '--ts', ''],
      ['iso', 'local', 'age'],
    ],
    [['org', '--out'], ['--output']],
    [['org', 'get', '--max', '3', '--out'], ['--output']],
    [['org', 'get', '--org', 'x', 'acme', '--out'], ['--output']],
    [
      ['completion', ''],
      ['bash', 'fish', 'zsh'],
    ],
    [['audit', 'publish', '--file', ''], ['files']],
    [['audit', 'publish', '-f', 'x'], ['files']],
    [['audit', 'publish', '--file=x'], ['files']],
    [['backup', '--to', ''], ['files']],
    [['audit', 'list', '--to', ''], []],
    [['org', 'get', ''], []],
    [['org', 'get', '--', '--out'], []],
    [['org', 'get', '--max', ''], []],
    [['org', 'get', '--nothing', ''], []],
    [['org', 'get', '--nothing=', ''], []],
    [['org', 'nothing', ''], []],
    [['nothing', ''], []],
    [['constructor', ''], []],
    [['org', 'get', '--color=perhaps', ''], []],
  ])('%j: %j', async (words, expected) => {
    expect(await values(words)).toEqual(expected);
  });
});

describe('names of profiles', () => {
  const stored = (text: string) => {
    const dir = join(temporaryFolder(), 'svc');
    mkdirSync(dir);
    writeFileSync(join(dir, 'profiles.json'), text);
    return { SVC_CONFIG_DIR: dir };
  };
  const two = () => stored('{"version":1,"profiles":{"prod":{"org":"acme","token":"secret-key"},"dev":{}}}');

  it.each([
    [
      ['profile', 'get', ''],
      ['prod', 'dev'],
    ],
    [['profile', 'get', 'dev', ''], ['prod']],
    [['profile', 'token', 'p'], ['prod']],
    [
      ['profile', 'set-default', ''],
      ['prod', 'dev'],
    ],
    [['org', 'get', '--profile', 'd'], ['dev']],
    [['org', 'get', '--profile=d'], ['--profile=dev']],
    [['--profile', 'd'], ['dev']],
    [['profile', 'create', ''], []],
    [['profile', 'token', 'prod', ''], []],
  ])('%j: %j', async (words, expected) => {
    expect(await values(words, two())).toEqual(expected);
  });

  it('show the organization, never the key', async () => {
    expect(await offered(['profile', 'get', 'p'], two())).toEqual(['prod\tacme']);
  });

  it('are none where the file is damaged', async () => {
    expect(await offered(['profile', 'get', ''], stored('{'))).toEqual([]);
  });
});

describe('names of resources', () => {
  const HERE = { SVC_ORG: 'acme', SVC_TOKEN: 'token' };
  const list = (items: unknown) => ({ kind: 'list', items, links: [] });

  it('are asked for as the line says', async () => {
    const { url, seen } = await scriptedServer((_, response) =>
      answer(response, 200, list([{ name: 'devs', description: 'x' }])),
    );
    const line = ['group', 'edit', '--org', 'o/1', '--token', 'other', '--endpoint', url, 'de'];
    expect(await offered(line, HERE)).toEqual(['devs\tx']);
    expect(
      seen.map(({ method, url: path, headers, body }) => [method, path, headers.authorization, JSON.parse(body)]),
    ).toEqual([
      [
        'POST',
        '/org/o%2F1/group/-query?limit=100',
        'Bearer other',
        { kind: 'group', fetch: 'items', spec: { match: 'all', terms: [{ property: 'name', op: '>=', value: 'de' }] } },
      ],
    ]);
  });

  it('that could steer a terminal are not offered; what they are is escaped', async () => {
    const names = ['ok', 'a\u001b[2J', 'b\nc', 'd\te', '', 'f\u202e', 7, null];
    const { url } = await scriptedServer((_, response) =>
      answer(response, 200, list(names.map((name) => ({ name, description: 'x\u001b[2J\ny' })))),
    );
    const lines = await offered(['group', 'edit', ''], { ...HERE, SVC_ENDPOINT: url });
    expect(lines[0]).toBe('ok\tx\\u001b[2J\\ny');
    expect(valuesOf(lines)).toEqual(['ok']);
  });

  it.each([
    ['the service is not there', { ...HERE, SVC_ENDPOINT: 'http://127.0.0.1:1' }],
    ['there is no such host', { ...HERE, SVC_ENDPOINT: 'http://nowhere.invalid' }],
    ['no organization is known', { SVC_TOKEN: 'token' }],
    ['no key is known', { SVC_ORG: 'acme' }],
    ['the profile is not there', { ...HERE, SVC_PROFILE: 'gone' }],
    ['the organization cannot be in a path', { SVC_ORG: '..', SVC_TOKEN: 'token' }],
  ])('are none, and nothing is said, when %s', async (_, env) => {
    expect(await offered(['group', 'edit', ''], env)).toEqual([]);
  });

  it.each([
    ['refuses', 403, { status: 403, message: 'no' }],
    ['is busy', 503, { status: 503, message: 'busy' }],
    ['answers something else', 200, '<html>'],
    ['answers no list', 200, 'null'],
    ['answers no names', 200, list([null])],
  ])('are none, and asked for once, when the service %s', async (_, status, body) => {
    const { url, seen } = await scriptedServer((_request, response) =>
      answer(response, status, body, { 'retry-after': '0' }),
    );
    expect(await offered(['group', 'edit', ''], { ...HERE, SVC_ENDPOINT: url })).toEqual([]);
    expect(seen).toHaveLength(1);
  });

  it.each([
    ['does not answer', false],
    ['does not end its answer', true],
  ])('are none after a second when the service %s', async (_, begins) => {
    const { url } = await scriptedServer((_request, response) => {
      if (begins) response.writeHead(200).write('{"items":[');
    });
    const begun = Date.now();
    expect(await offered(['group', 'edit', ''], { ...HERE, SVC_ENDPOINT: url })).toEqual([]);
    const took = Date.now() - begun;
    expect(took).toBeGreaterThan(900);
    // The rest is the start of the process, on a machine that has other things to do.
    expect(took).toBeLessThan(4_000 * PATIENCE);
  });
});

describe('names of resources, of the real service', () => {
  let mailbox: Mailbox;
  let service: TestService;
  let org: Org;

  beforeAll(async () => {
    mailbox = await openMailbox();
    service = await startService({ env: mailbox.env });
    org = await newOrg(service);
    for (const name of ['ann', 'anton', 'bob'])
      await newUser(org, mailbox, `${name}@example.com`, { name: `${name} X.` });
    for (const name of ['devs', 'dev-ops'])
      await new Resources(org, 'group').create({ name, description: `the ${name}` });
  });

  afterAll(async () => {
    await service.remove();
    await mailbox.close();
  });

  it.each([
    [
      ['user', 'edit', ''],
      ['ann@example.com', 'anton@example.com', 'bob@example.com'],
    ],
    [
      ['user', 'edit', 'an'],
      ['ann@example.com', 'anton@example.com'],
    ],
    [['user', 'edit', 'ann@'], ['ann@example.com']],
    [['user', 'edit', 'ann@example.com', ''], []],
    [['user', 'edit', 'x'], []],
    [
      ['group', 'edit', 'dev'],
      ['dev-ops', 'devs'],
    ],
    [['serviceaccount', 'edit', ''], ['admin']],
    [['policy', 'edit', 'sup'], ['superusers']],
    [['domain', 'edit', ''], []],
  ])('%j: %j', async (words, expected) => {
    const env = { SVC_ENDPOINT: service.url, SVC_ORG: org.name, SVC_TOKEN: org.key };
    expect(await values(words, env)).toEqual(expected);
  });

  it('with what they are', async () => {
    const env = { SVC_ENDPOINT: service.url, SVC_ORG: org.name, SVC_TOKEN: org.key };
    expect(await offered(['user', 'edit', 'b'], env)).toEqual(['bob@example.com\tbob X.']);
    expect(await offered(['group', 'edit', 'devs'], env)).toEqual(['devs\tthe devs']);
  });
});
