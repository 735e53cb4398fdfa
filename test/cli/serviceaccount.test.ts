import { type Client, newClient, openHouse, type TestHouse } from './support/org.js';

interface Account {
  readonly name: string;
  readonly keys: readonly { readonly id: string; readonly description: string; readonly expires?: string }[];
}

let house: TestHouse;
let client: Client;
const account = (...args: string[]) => client.json<Account>('serviceaccount', ...args);

beforeAll(async () => {
  house = await openHouse();
  client = await newClient(house);
  await client.run(['serviceaccount', 'create', '--name', 'ci', '--desc', 'builds', '--tag', 'team=core']);
});

afterAll(() => house.close());

it('is shown with its origin and the number of its keys', async () => {
  const { stdout } = await client.run(['serviceaccount', 'get']);
  expect(stdout).toMatch(/^admin\tadmin\t\S+Z\t1\tbuiltin\t-\nci\tbuilds\t\S+Z\t0\tdefault\tteam=core\n$/);
});

it('gets a key, shown once, that works until it is removed', async () => {
  await client.run(['serviceaccount', 'create', '--name', 'keyed']);
  await client.run(['group', 'add-member', 'superusers', '--serviceaccount', 'keyed']);
  const before = Date.now();
  const { code, stdout, stderr } = await client.run([
    ...['serviceaccount', 'add-key', 'keyed', '--description', 'laptop', '--expires', '1d', '-o', 'json'],
  ]);
  expect([code, stderr]).toEqual([0, expect.stringContaining('shown only once')]);
  const { id, key, expires } = JSON.parse(stdout) as { id: string; key: string; expires: string };
  expect(Date.parse(expires) - before).toBeGreaterThanOrEqual(86_400_000);
  expect(Date.parse(expires) - before).toBeLessThan(86_400_000 + 60_000);
  expect((await client.run(['group', 'get', '--token', key])).code).toBe(0);
  expect((await account('get', 'keyed')).keys).toEqual([expect.objectContaining({ id, description: 'laptop' })]);
  const removed = await client.run(['serviceaccount', 'remove-key', 'keyed', '--id', 'none', '--id', id]);
  expect([removed.code, removed.stderr]).toEqual([1, expect.stringMatching(/error: none: [\s\S]*revoked /)]);
  expect((await client.run(['group', 'get', '--token', key])).code).toBe(4);
});

it('shows a new key in text, and only its id with -o names', async () => {
  const args = ['serviceaccount', 'add-key', 'ci', '--description', 'x', '--expires', '2999-01-01'];
  expect((await client.run(args)).stdout).toMatch(/^\S+\tx\t\S+Z\t2999-01-01T00:00:00\.000Z\nkey: svc_\S+\n$/);
  expect((await client.run([...args, '-o', 'names'])).stdout).toMatch(/^[0-9a-f-]{36}\n$/);
});

it.each([
  [['add-key', 'ci'], '--description is required'],
  [['add-key', 'ci', '--description', 'x', '--expires', 'soon'], '--expires is a span'],
  [['remove-key', 'ci'], '--id is required'],
  [['create'], '--name is required'],
])('%j is a usage error', async (args, message) => {
  const { code, stderr } = await client.run(['serviceaccount', ...args]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});

it('is created from a file that get wrote, without keys', async () => {
  await client.run(['serviceaccount', 'add-key', 'ci', '--description', 'x']);
  const input = (await client.run(['serviceaccount', 'get', 'ci', '-o', 'yaml'])).stdout;
  const made = await client.run(['serviceaccount', 'create', '-f', '-', '--name', 'copy', '-o', 'json'], { input });
  expect(JSON.parse(made.stdout)).toMatchObject({
    name: 'copy',
    description: 'builds',
    tags: { team: 'core' },
    keys: [],
  });
});

it('is found, tagged, changed and deleted', async () => {
  await client.run(['serviceaccount', 'create', '--name', 'old', '--tag', 'temporary=yes']);
  expect(await client.names('serviceaccount', 'query', '--tag', 'temporary=yes')).toEqual(['old']);
  expect(await account('tag', 'old', '--tag', 'a=1', '--remove', 'temporary')).toMatchObject({ tags: { a: '1' } });
  expect(await account('update', 'old', '--set', 'description=d')).toMatchObject({ description: 'd' });
  const patched = await client.run(['serviceaccount', 'patch', 'old', '-f', '-'], { input: '{"description":"e"}' });
  expect(patched.stdout).toContain('old\te\t');
  expect(await client.names('serviceaccount', 'permissions')).toContain('addKey');
  expect((await client.run(['serviceaccount', 'delete', 'old', 'gone'])).code).toBe(1);
  expect(await client.names('serviceaccount', 'query', '--prop', 'name=old')).toEqual([]);
});
