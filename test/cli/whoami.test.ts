import { parse } from 'yaml';
import { type Client, newClient, openHouse, type TestHouse } from './support/org.js';

interface Key {
  readonly id: string;
  readonly description: string;
  readonly key: string;
}

let house: TestHouse;
let client: Client;

beforeAll(async () => {
  house = await openHouse();
});

beforeEach(async () => {
  client = await newClient(house);
  await client.user('ann@example.com', 'Ann A.');
});

afterAll(() => house.close());

const keyOf = (...args: string[]) =>
  client.json<Key>('user', 'add-key', 'ann@example.com', '--description', 'laptop', ...args);

describe('svc whoami', () => {
  it('shows whom the key belongs to, when it expires, and what it may do', async () => {
    const { key, id } = await keyOf('--expires', '2099-01-01');
    const args = ['policy', 'create', '--name', 'reads', '--target-kind', 'auditctx'];
    await client.run([...args, '--target', 'all', '--binding', 'readAudit=user/ann@example.com']);
    const { code, stdout } = await client.run(['whoami', '--token', key]);
    const lines = stdout.split('\n').filter((line) => !line.startsWith('last used:'));
    expect([code, lines]).toEqual([
      0,
      [
        'user:          ann@example.com',
        'name:          Ann A.',
        `organization:  ${client.org.name}`,
        `key:           ${id} laptop`,
        expect.stringMatching(/^issued: {8}\d{4}-\d\d-\d\dT\S+Z$/),
        'expires:       2099-01-01T00:00:00.000Z',
        'auditctx:      readAudit (all)',
        '',
      ],
    ]);
  });

  it('shows the answer of the service as JSON and YAML', async () => {
    const shown = await client.json<{ key: { id: string } }>('whoami');
    const { stdout } = await client.run(['whoami', '-o', 'yaml']);
    expect(parse(stdout)).toMatchObject({ kind: 'whoami', org: client.org.name, key: { id: shown.key.id } });
    expect((await client.run(['whoami', '-o', 'names'])).stdout).toBe('admin\n');
  });

  it('needs no organization, and fails with 4 for an unknown key', async () => {
    const none = { env: { SVC_ORG: '' } };
    expect((await client.run(['whoami'], none)).code).toBe(0);
    expect((await client.run(['whoami', '--token', 'svc_unknown'], none)).code).toBe(4);
    expect((await client.run(['whoami', '-o', 'tf'])).code).toBe(2);
  });
});

describe('the keys of a user', () => {
  it('are issued, listed and revoked', async () => {
    const { id, key } = await keyOf();
    expect((await client.run(['whoami', '--token', key])).code).toBe(0);
    expect(await client.names('user', 'keys', 'ann@example.com')).toEqual([expect.any(String), id]);
    const list = await client.json<{ itemKind: string; items: readonly Key[] }>('user', 'keys', 'ann@example.com');
    expect([list.itemKind, list.items.map(({ description }) => description)]).toEqual(['key', ['first key', 'laptop']]);
    const { stdout } = await client.run(['user', 'keys', 'ann@example.com']);
    expect(stdout).toMatch(/^\S+\tfirst key\t\S+Z\t-\t\S+\n\S+\tlaptop\t\S+Z\t-\t\S+\n$/);
    const removed = await client.run(['user', 'remove-key', 'ann@example.com', '--id', id]);
    expect([removed.code, removed.stderr]).toEqual([0, `revoked ${id}\n`]);
    expect((await client.run(['whoami', '--token', key])).code).toBe(4);
  });

  it('are listed by their holder without any permission', async () => {
    const { key } = await keyOf();
    const { code } = await client.run(['user', 'keys', 'ann@example.com', '--token', key]);
    expect(code).toBe(0);
    expect((await client.run(['serviceaccount', 'keys', 'admin', '--token', key])).code).toBe(4);
  });
});
