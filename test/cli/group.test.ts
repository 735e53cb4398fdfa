import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type Client, newClient, openHouse, type TestHouse } from './support/org.js';
import { temporaryFolder } from './support/svc.js';

interface Group {
  readonly name: string;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly memberLinks: readonly string[];
  readonly memberQuery?: object;
  readonly origin: string;
}

let house: TestHouse;
let client: Client;
const group = (...args: string[]) => client.json<Group>('group', ...args);
const link = (kind: string, ref: string) => `/org/${client.org.name}/${kind}/${ref}`;

beforeAll(async () => {
  house = await openHouse();
});

beforeEach(async () => {
  client = await newClient(house);
});

afterAll(() => house.close());

describe('svc group create', () => {
  it('needs only a name: the description is the name, and there are no members', async () => {
    expect(await group('create', '--name', 'devs')).toMatchObject({
      kind: 'group',
      name: 'devs',
      description: 'devs',
      tags: {},
      memberLinks: [],
      origin: 'default',
    });
    const { stdout } = await client.run(['group', 'get', 'devs']);
    expect(stdout).toMatch(/^devs\tdevs\t\S+Z\tlinks\tdefault\t-\n$/);
  });

  it('takes a description under both option names, and tags', async () => {
    const args = ['--tag', 'a=1', '--tag', 'b=x=y'];
    expect(await group('create', '--name', 'g1', '--description', 'one', ...args)).toMatchObject({
      description: 'one',
      tags: { a: '1', b: 'x=y' },
    });
    expect(await group('create', '--name', 'g2', '--desc', 'two')).toMatchObject({ description: 'two' });
  });

  it('takes a query', async () => {
    const terms = ['--query-property', 'email~@example.com', '--query-tag', 'team=core', '--query-rel', 'group=devs'];
    const { memberQuery } = await group(
      'create',
      '--name',
      'g1',
      '--query-match',
      'any',
      '--query-kind',
      'user',
      ...terms,
    );
    expect(memberQuery).toEqual({
      kind: 'user',
      fetch: 'items',
      spec: {
        match: 'any',
        terms: [
          { property: 'email', op: '~', value: '@example.com' },
          { tag: 'team', op: '=', value: 'core' },
          { rel: 'group', op: '=', value: 'devs' },
        ],
      },
    });
    expect((await client.run(['group', 'get', 'g1'])).stdout).toMatch(/\tquery\tdefault\t-\n$/);
  });

  it('adds no members for a match without terms', async () => {
    const { code, stderr } = await client.run(['group', 'create', '--name', 'g1', '--query-match', 'all']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('the group has no query')]);
    expect(await group('get', 'g1')).not.toHaveProperty('memberQuery');
  });

  it.each([
    [[], '--name is required'],
    [['--name', 'x', '--query-kind', 'group'], '--query-kind is user'],
    [['--name', 'x', '--query-match', 'some'], '--query-match is one of'],
    [['--name', 'x', '--query-tag', 'team'], '--query-tag is key=value'],
    [['--name', 'x', '--tag', 'team'], '--tag is KEY=VALUE'],
  ])('%j is a usage error', async (args, message) => {
    const { code, stderr } = await client.run(['group', 'create', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it.each(['yaml', 'yaml-slim', 'json', 'json-slim'])('accepts a file that get wrote, -o %s', async (format) => {
    await client.run(['group', 'create', '--name', 'devs', '--desc', 'd', '--tag', 'a=1', '--query-tag', 'a=1']);
    await client.run(['group', 'add-member', 'devs', '--serviceaccount', 'admin']);
    const { stdout } = await client.run(['group', 'get', 'devs', '-o', format]);
    const file = join(temporaryFolder(), 'group');
    writeFileSync(file, stdout);
    const copy = await group('create', '-f', file, '--name', 'ops', '--tag', 'b=2');
    const devs = await group('get', 'devs');
    expect(copy).toMatchObject({
      name: 'ops',
      description: 'd',
      tags: { a: '1', b: '2' },
      memberLinks: devs.memberLinks,
      memberQuery: devs.memberQuery,
    });
    await client.run(['group', 'delete', 'devs']);
    expect(await group('create', '-f', file)).toMatchObject({ name: 'devs', memberLinks: devs.memberLinks });
  });

  it('refuses a file of another kind', async () => {
    const input = (await client.run(['serviceaccount', 'get', 'admin', '-o', 'yaml'])).stdout;
    const { code, stderr } = await client.run(['group', 'create', '-f', '-', '--name', 'x'], { input });
    expect([code, stderr]).toEqual([2, expect.stringContaining('"serviceaccount", not "group"')]);
  });
});

describe('members', () => {
  beforeEach(async () => {
    await client.user('ann@example.com');
    await client.run(['group', 'create', '--name', 'devs']);
  });

  it('are added and removed by e-mail address and by the name of a service account', async () => {
    const args = ['devs', '--email', 'Ann@Example.com'];
    expect((await group('add-member', ...args)).memberLinks).toEqual([link('user', 'ann@example.com')]);
    expect((await group('add-member', 'devs', '--serviceaccount', 'admin')).memberLinks).toEqual([
      link('user', 'ann@example.com'),
      link('serviceaccount', 'admin'),
    ]);
    expect((await group('remove-member', ...args)).memberLinks).toEqual([link('serviceaccount', 'admin')]);
    expect((await group('remove-member', 'devs', '--serviceaccount', 'admin')).memberLinks).toEqual([]);
  });

  it('must exist to be added; removing who is no member says so and succeeds', async () => {
    const added = await client.run(['group', 'add-member', 'devs', '--email', 'no@example.com']);
    expect([added.code, added.stderr]).toEqual([
      1,
      `error: --email no@example.com: no such user in ${client.org.name}\n`,
    ]);
    const removed = await client.run(['group', 'remove-member', 'devs', '--email', 'ann@example.com']);
    expect([removed.code, removed.stderr]).toEqual([
      0,
      'ann@example.com is not a linked member of devs: nothing to remove\n',
    ]);
  });

  it.each(['add-member', 'remove-member'])('%s needs a member', async (verb) => {
    expect((await client.run(['group', verb, 'devs'])).code).toBe(2);
  });

  it('are appended, removed and replaced by update', async () => {
    const set = async (...sets: string[]) => {
      const { memberLinks } = await group('update', 'devs', ...sets.flatMap((one) => ['--set', one]));
      return memberLinks.map((one) => one.split('/').at(-1));
    };
    expect(await set('memberLinks+=ann@example.com,serviceaccount/admin')).toEqual(['ann@example.com', 'admin']);
    expect(await set('memberLinks-=user/ann@example.com')).toEqual(['admin']);
    expect(await set(`memberLinks=${link('user', 'ann@example.com')}`)).toEqual(['ann@example.com']);
    expect(await set('memberLinks-=ann@example.com', 'memberLinks+=serviceaccount/admin')).toEqual(['admin']);
    expect(await set('memberLinks=["ann@example.com"]', 'memberLinks=serviceaccount/admin')).toHaveLength(2);
    expect(await set('memberLinks=', 'description=empty')).toEqual([]);
    for (const wrong of ['memberLinks=devs', 'memberLinks=[1]', 'memberLinks']) {
      expect((await client.run(['group', 'update', 'devs', '--set', wrong])).code).toBe(2);
    }
  });

  it('are all kept when two clients add at once', async () => {
    await Promise.all([
      client.run(['group', 'add-member', 'devs', '--email', 'ann@example.com']),
      client.run(['group', 'add-member', 'devs', '--serviceaccount', 'admin']),
    ]);
    expect((await group('get', 'devs')).memberLinks).toHaveLength(2);
  });
});

it.each(['clone', 'copy'])('svc group %s duplicates only what the group does', async (verb) => {
  const args = ['--description', 'old', '--tag', 'a=1', '--query-tag', 'team=core'];
  await client.run(['group', 'create', '--name', 'devs', ...args]);
  await client.run(['group', 'add-member', 'devs', '--serviceaccount', 'admin']);
  const devs = await group('get', 'devs');
  const { memberLinks, memberQuery } = devs;
  expect(await group(verb, 'devs', '--name', 'ops', '--tag', 'b=2')).toMatchObject({
    name: 'ops',
    description: 'ops',
    tags: { b: '2' },
    memberLinks,
    memberQuery,
  });
  expect(await group(verb, 'devs', '--name', 'ops2', '--description', 'new')).toMatchObject({
    description: 'new',
    tags: {},
  });
  expect((await client.run(['group', verb, 'devs'])).stderr).toContain('--name is required');
  expect((await client.run(['group', verb, 'none', '--name', 'x'])).code).toBe(1);
});

it('svc group get shows how members come to a group', async () => {
  await client.run(['group', 'create', '--name', 'both', '--query-tag', 'a=1']);
  await client.run(['group', 'add-member', 'both', '--serviceaccount', 'admin']);
  const rows = (await client.run(['group', 'get'])).stdout.split('\n').map((row) => row.split('\t'));
  expect(rows.map(([name, , , filter, origin]) => [name, filter, origin]).slice(0, 3)).toEqual([
    ['both', 'links,query', 'default'],
    ['superusers', 'links', 'builtin'],
    ['viewers', 'links', 'builtin'],
  ]);
});

it('svc group query finds groups by property, tag and member', async () => {
  await client.run(['group', 'create', '--name', 'devs', '--description', 'who write it', '--tag', 'team=core']);
  const found = (...args: string[]) => client.names('group', 'query', ...args);
  expect(await found('--property', 'name=devs')).toEqual(['devs']);
  expect(await found('--prop', 'description~WRITE')).toEqual(['devs']);
  expect(await found('--tag', 'team=core')).toEqual(['devs']);
  expect(await found('--rel', 'member=admin')).toEqual(['superusers']);
  expect(await found('--match', 'none', '--prop', 'origin=builtin')).toEqual(['devs']);
});

it('svc group delete deletes all groups that it may', async () => {
  await client.run(['group', 'create', '--name', 'devs']);
  const { code, stderr } = await client.run(['group', 'delete', 'superusers', 'devs']);
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/error: superusers: .*builtin_resource[\s\S]*deleted devs\n/),
  ]);
  expect(await client.names('group', 'get')).toEqual(['superusers', 'viewers']);
});

it('--max counts over pages, and below 1 shows all', async () => {
  const names = Array.from({ length: 230 }, (_, index) => `g${String(index).padStart(3, '0')}`);
  for (const name of names) await client.org.api.post(`/org/${client.org.name}/group`, { name });
  expect(await client.names('group', 'get')).toEqual(names.slice(0, 50));
  expect(await client.names('group', 'get', '--max', '210')).toEqual(names.slice(0, 210));
  const all = [...names, 'superusers', 'viewers'];
  expect(await client.names('group', 'get', '--max', '-1')).toEqual(all);
  expect(await client.names('group', 'query', '--prop', 'name>=a', '--max', '0')).toEqual(all);
  const { items } = parse((await client.run(['group', 'get', '--max', '0', '-o', 'yaml'])).stdout) as {
    items: Group[];
  };
  expect(items.map(({ name }) => name)).toEqual(all);
});
