import { type Client, newClient, openHouse, type TestHouse } from './support/org.js';
import { type RunOptions, svc } from './support/svc.js';

const EMAIL = 'eve@example.com';

let house: TestHouse;
let client: Client;
/** As somebody who has no key and no profile. */
const guest = (args: string[], options: RunOptions = {}) =>
  svc(['invitation', 'accept', ...args], { ...options, env: { SVC_ENDPOINT: house.service.url } });

async function invited(): Promise<{ id: string; code: string }> {
  await client.run(['user', 'invite', '--email', EMAIL]);
  const [id = ''] = await client.names('invitation', 'get');
  return { id, code: house.mailbox.code(EMAIL) };
}

beforeAll(async () => {
  house = await openHouse();
});

beforeEach(async () => {
  client = await newClient(house);
});

afterAll(() => house.close());

it('is accepted by the command in the letter; the answer holds a working key', async () => {
  const { id, code } = await invited();
  const { text } = house.mailbox.mails.at(-1) ?? { text: '' };
  const [, command = ''] = /\n {2}svc invitation accept (\S+ --code \S+) /.exec(text) ?? [];
  const accepted = await guest([...command.split(' '), '--name', 'Eve E.', '-o', 'json']);
  expect([accepted.code, accepted.stderr]).toEqual([0, expect.stringContaining('shown only once')]);
  const { email, name, key } = JSON.parse(accepted.stdout) as Record<string, string>;
  expect([email, name]).toEqual([EMAIL, 'Eve E.']);
  expect((await client.run(['org', 'get', '--token', key ?? ''])).code).toBe(0);
  const again = await guest([`${client.org.name}/${id}`, '--code', code, '--name', 'Eve']);
  expect(again.code).toBe(1);
});

it.each([
  ['an id', (id: string) => [id, '--org', client.org.name]],
  ['a link', (id: string) => [`/org/${client.org.name}/invitation/${id}`]],
])('is named by %s, and its code read from standard input', async (_what, ref) => {
  const { id, code } = await invited();
  const accepted = await guest([...ref(id), '--name', 'Eve E.'], { input: `${code}\n` });
  expect(accepted.stdout).toMatch(/\tEve E\.\teve@example\.com\t[\s\S]*\nkey: svc_\S+\n$/);
});

it('refuses a wrong code, and never shows it', async () => {
  const { id } = await invited();
  const args = [`${client.org.name}/${id}`, '--code', 'wrong-code-1', '--name', 'Eve', '--debug'];
  const { code, stdout, stderr } = await guest(args);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('not_found');
  expect(stderr).not.toContain('wrong-code-1');
});

it('is shown and revoked', async () => {
  const { id, code } = await invited();
  expect((await client.run(['invitation', 'get'])).stdout).toMatch(
    new RegExp(`^${id}\teve@example\\.com\t-\t\\S+Z\t\\S+Z\n$`),
  );
  expect(await client.json('invitation', 'get', id)).toMatchObject({ kind: 'invitation', email: EMAIL });
  const { code: exit, stderr } = await client.run(['invitation', 'revoke', 'none', id]);
  expect([exit, stderr]).toEqual([1, expect.stringMatching(/error: none: [\s\S]*revoked /)]);
  expect((await guest([`${client.org.name}/${id}`, '--code', code, '--name', 'Eve'])).code).toBe(1);
});

it.each([
  [['a/b/c', '--name', 'x', '--code', 'c'], '<ref> is ORG/ID'],
  [['id', '--name', 'x', '--code', 'c'], 'no organization'],
  [['acme/id', '--name', 'x'], 'no code'],
  [['acme/id', '--code', 'c'], '--name is required'],
  [['acme/id', '--code', 'c', '--name', 'x', '-o', 'tf'], 'is not available for an acceptance'],
])('accept %j is a usage error', async (args, message) => {
  const { code, stderr } = await guest(args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
