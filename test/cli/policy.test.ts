import { type Client, newClient, openHouse, type TestHouse } from './support/org.js';

interface Policy {
  readonly name: string;
  readonly targetKind: string;
  readonly target?: string;
  readonly targetLinks?: readonly string[];
  readonly bindings: readonly { readonly permissions: readonly string[]; readonly principalLinks: readonly string[] }[];
}

let house: TestHouse;
let client: Client;
const policy = (...args: string[]) => client.json<Policy>('policy', ...args);
const link = (kind: string, ref: string) => `/org/${client.org.name}/${kind}/${ref}`;

beforeAll(async () => {
  house = await openHouse();
});

beforeEach(async () => {
  client = await newClient(house);
  await client.user('a+b@example.com');
  await client.run(['group', 'create', '--name', 'devs']);
});

afterAll(() => house.close());

const BINDINGS = ['--binding', 'view,edit=group/devs,A+b@example.com', '--binding', 'delete=serviceaccount/admin'];

it('svc policy create takes targets and bindings in short', async () => {
  const args = ['--name', 'p1', '--target-kind', 'group', '--target-link', 'devs'];
  expect(await policy('create', ...args, ...BINDINGS)).toMatchObject({
    description: 'p1',
    targetKind: 'group',
    targetLinks: [link('group', 'devs')],
    bindings: [
      { permissions: ['view', 'edit'], principalLinks: [link('group', 'devs'), link('user', 'a%2Bb@example.com')] },
      { permissions: ['delete'], principalLinks: [link('serviceaccount', 'admin')] },
    ],
  });
  expect((await client.run(['policy', 'get', 'p1'])).stdout).toMatch(
    /^p1\tp1\t\S+Z\tgroup\tgroup\/devs\tview,edit=group\/devs,a\+b@example\.com; delete=serviceaccount\/admin\tdefault\t-\n$/,
  );
  expect(await policy('create', '--name', 'p2', '--target-kind', 'user', '--target', 'all')).toMatchObject({
    target: 'all',
    bindings: [],
  });
});

it.each([
  [['--name', 'p1', '--target-link', 'devs']],
  [['--name', 'p1', '--target-kind', 'group', '--target', 'all', '--target-link', 'devs']],
  [['--name', 'p1', '--target-kind', 'group', '--target', 'all', '--binding', 'view']],
  [['--name', 'p1', '--target-kind', 'group', '--target', 'all', '--binding', 'view=devs']],
  [['--name', 'p1', '--target-kind', 'group', '--target', 'all', '--binding', '=group/devs']],
])('svc policy create %j is a usage error', async (args) => {
  expect((await client.run(['policy', 'create', ...args])).code).toBe(2);
});

describe('bindings', () => {
  beforeEach(async () => {
    await client.run(['policy', 'create', '--name', 'p1', '--target-kind', 'group', '--target', 'all', ...BINDINGS]);
  });

  it('are added: principals of the same permissions share one', async () => {
    const { bindings } = await policy('add-binding', 'p1', '--binding', 'edit,view=serviceaccount/admin');
    expect(bindings.map(({ principalLinks }) => principalLinks.length)).toEqual([3, 1]);
    expect((await policy('add-binding', 'p1', '--binding', 'manage=group/devs')).bindings).toHaveLength(3);
  });

  it('are removed; everything else stays granted', async () => {
    const { bindings } = await policy('remove-binding', 'p1', '--binding', 'edit=a+B@example.com');
    expect(bindings).toEqual([
      { permissions: ['view', 'edit'], principalLinks: [link('group', 'devs')] },
      { permissions: ['view'], principalLinks: [link('user', 'a%2Bb@example.com')] },
      { permissions: ['delete'], principalLinks: [link('serviceaccount', 'admin')] },
    ]);
    const left = await policy('remove-binding', 'p1', '--binding', 'delete=serviceaccount/admin');
    expect(left.bindings).toHaveLength(2);
  });

  it('cannot be removed if they do not exist', async () => {
    const { code, stderr } = await client.run(['policy', 'remove-binding', 'p1', '--binding', 'delete=group/devs']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('p1 does not grant delete to group/devs')]);
  });

  it('are all kept when two clients add at once', async () => {
    await Promise.all(
      ['view=group/superusers', 'edit=group/superusers', 'delete=group/superusers'].map((binding) =>
        client.run(['policy', 'add-binding', 'p1', '--binding', binding]),
      ),
    );
    const links = (await policy('get', 'p1')).bindings.flatMap(({ principalLinks }) => principalLinks);
    expect(links.filter((one) => one === link('group', 'superusers'))).toHaveLength(3);
  });

  it('are copied by clone, and by create from a file that get wrote', async () => {
    const { bindings } = await policy('get', 'p1');
    expect(await policy('clone', 'p1', '--name', 'p2')).toMatchObject({ target: 'all', targetKind: 'group', bindings });
    const input = (await client.run(['policy', 'get', 'p1', '-o', 'yaml'])).stdout;
    const { stdout } = await client.run(['policy', 'create', '-f', '-', '--name', 'p3', '-o', 'json'], { input });
    expect(JSON.parse(stdout)).toMatchObject({ name: 'p3', target: 'all', bindings });
  });
});

it('svc policy query, tag, update, patch, permissions and delete work as for groups', async () => {
  await client.run(['policy', 'create', '--name', 'p1', '--target-kind', 'group', '--target', 'all']);
  expect(await client.names('policy', 'query', '--prop', 'targetKind=group')).toEqual(['p1']);
  expect(await client.json('policy', 'tag', 'p1', '--tag', 'a=1')).toMatchObject({ tags: { a: '1' } });
  expect(await client.json('policy', 'update', 'p1', '--set', 'description=d')).toMatchObject({ description: 'd' });
  const patched = await client.run(['policy', 'patch', 'p1', '-f', '-', '-o', 'json'], { input: 'targetKind: user\n' });
  expect(JSON.parse(patched.stdout)).toMatchObject({ targetKind: 'user' });
  expect(await client.names('policy', 'permissions')).toContain('manage');
  expect((await client.run(['policy', 'delete', 'p1'])).code).toBe(0);
  expect(await client.names('policy', 'get')).toEqual(['superusers', 'viewers']);
});
