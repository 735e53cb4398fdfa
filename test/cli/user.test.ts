import { parse } from 'yaml';
import { type Client, newClient, openHouse, type TestHouse } from './support/org.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

interface User {
  readonly id: string;
  readonly email: string;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly version: number;
}

interface List {
  readonly kind: string;
  readonly itemKind: string;
  readonly items: readonly User[];
}

const ASSIGNED = ['id', 'version', 'created', 'lastModified', 'links'];

let house: TestHouse;
let client: Client;

beforeAll(async () => {
  house = await openHouse();
});

beforeEach(async () => {
  client = await newClient(house);
  await client.user('ann@example.com', 'Ann A.');
  await client.user('bob@example.com', 'Bob B.');
});

afterAll(() => house.close());

describe('svc user get', () => {
  it('shows the columns of the specification in its order', async () => {
    await client.run(['user', 'tag', 'ann@example.com', '--tag', 'team=core', '--tag', 'tier=1']);
    const { id } = await client.json<User>('user', 'get', 'ann@example.com');
    const { stdout } = await client.run(['user', 'get', 'ann@example.com']);
    expect(stdout).toMatch(/^\S+\tAnn A\.\tann@example\.com\t\d{4}-\d\d-\d\dT\S+Z\tinvitation\tteam=core, tier=1\n$/);
    expect(stdout.startsWith(id)).toBe(true);
  });

  withTerminal('on a terminal has a header', async () => {
    const screen = await svcOnTerminal('user get', { ...client.env, NO_COLOR: '1' });
    expect(screen).toMatch(/^ID +FULL NAME +EMAIL +CREATED +IDENTITY PROVIDER +TAGS/);
  });

  it('shows the resource for one reference, a list for several or none', async () => {
    const ann = await client.json<User>('user', 'get', 'ann@example.com');
    expect(ann).toMatchObject({ kind: 'user', email: 'ann@example.com', name: 'Ann A.' });
    expect(await client.json<User>('user', 'get', ann.id)).toEqual(ann);
    const both = await client.json<List>('user', 'get', 'bob@example.com', 'ann@example.com');
    expect([both.kind, both.itemKind, both.items.map(({ email }) => email)]).toEqual([
      'list',
      'user',
      ['bob@example.com', 'ann@example.com'],
    ]);
    expect((await client.json<List>('user', 'get')).items).toHaveLength(2);
    expect(await client.names('user', 'get')).toEqual(['ann@example.com', 'bob@example.com']);
  });

  it('shows the same in YAML, and in slim formats without what the service assigned', async () => {
    const ann = await client.json<User>('user', 'get', 'ann@example.com');
    const shown = async (format: string) =>
      parse((await client.run(['user', 'get', 'ann@example.com', '-o', format])).stdout) as object;
    expect(await shown('yaml')).toEqual(ann);
    const slim = Object.fromEntries(Object.entries(ann).filter(([name]) => !ASSIGNED.includes(name)));
    expect(await shown('json-slim')).toEqual(slim);
    expect(await shown('yaml-slim')).toEqual(slim);
  });

  it('tries all references, reports each failure and then ends with 1', async () => {
    const refs = ['no@example.com', 'ann@example.com', '..', 'neither@example.com'];
    const { code, stdout, stderr } = await client.run(['user', 'get', ...refs, '-o', 'names']);
    expect([code, stdout]).toEqual([1, 'ann@example.com\n']);
    expect(stderr).toMatch(/error: no@example\.com: .*not_found/);
    expect(stderr).toMatch(/error: neither@example\.com: .*not_found/);
    expect(stderr).toContain('error: ..: `..` is not a valid name');
    expect((await client.run(['user', 'get', 'no@example.com'])).code).toBe(1);
  });

  it('without a valid key ends with 4', async () => {
    for (const args of [['get'], ['get', 'ann@example.com'], ['get', 'ann@example.com', 'bob@example.com']]) {
      expect((await client.run(['user', ...args, '--token', 'wrong'])).code).toBe(4);
    }
  });
});

describe('svc user query', () => {
  let asker: Client;
  const found = (...args: string[]) => asker.names('user', 'query', ...args);

  beforeAll(async () => {
    asker = await newClient(house);
    await asker.user('ann@example.com', 'Ann A.');
    await asker.user('bob@example.com', 'Bob B.');
    await asker.run(['user', 'tag', 'ann@example.com', '--tag', 'team=core', '--tag', 'a.b~c=x=y']);
    await asker.run(['user', 'tag', 'bob@example.com', '--tag', 'team=ops']);
    await asker.run(['group', 'create', '--name', 'devs']);
    await asker.run(['group', 'add-member', 'devs', '--email', 'ann@example.com']);
  });

  it.each([
    [['--property', 'email=ann@example.com'], 'ann'],
    [['--prop', 'name=Bob B.'], 'bob'],
    [['--tag', 'team=core'], 'ann'],
    [['--tag', 'a.b~c=x=y'], 'ann'],
    [['--rel', 'group=devs'], 'ann'],
    [['--rel', 'group!=devs'], 'bob'],
    [['--tag', 'team=core', '--prop', 'email=bob@example.com'], ''],
    [['--match', 'all', '--tag', 'team=core', '--prop', 'email=ann@example.com'], 'ann'],
    [['--match', 'any', '--tag', 'team=core', '--prop', 'email=bob@example.com'], 'ann bob'],
    [['--match', 'none', '--tag', 'team=core'], 'bob'],
    [['--prop', 'name!=Bob B.'], 'ann'],
    [['--prop', 'name~ANN'], 'ann'],
    [['--prop', 'tags.team=ops'], 'bob'],
    [['--prop', 'tags.a.b'], ''],
    [['--prop', '!tags.missing'], 'ann bob'],
    [['--prop', 'created>=2020-01-01'], 'ann bob'],
    [['--prop', 'created<2020-01-01'], ''],
    [['--prop', 'version>1'], 'ann bob'],
    [[], 'ann bob'],
  ])('%j finds %j', async (args, names) => {
    expect(await found(...args)).toEqual(
      names
        .split(' ')
        .filter(Boolean)
        .map((name) => `${name}@example.com`),
    );
  });

  it.each([
    [['--match', 'some'], '--match is one of all, none, any, not `some`'],
    [['--property', '=x'], '--property is key=value'],
    [['--tag', 'team'], '--tag is key=value'],
    [['--rel', 'group'], '--rel is a relation'],
  ])('%j is a usage error', async (args, message) => {
    const { code, stderr } = await asker.run(['user', 'query', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('svc user invite', () => {
  it('sends each address a code, and reports each result', async () => {
    const args = ['user', 'invite', '--email', 'eve@example.com', '--email', 'ann@example.com'];
    const { code, stdout, stderr } = await client.run(args);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`^eve@example\\.com\t/org/${client.org.name}/invitation/\\S+\n$`));
    expect(stderr).toMatch(/error: ann@example\.com: .*member already/);
    expect(house.mailbox.code('eve@example.com')).not.toBe('');
  });

  it('names the invited addresses, and shows the answer of the service', async () => {
    expect(await client.names('user', 'invite', '--email', 'eve@example.com')).toEqual(['eve@example.com']);
    const { invitations } = await client.json<{ invitations: object }>('user', 'invite', '--email', 'eve@example.com');
    expect(Object.keys(invitations)).toEqual(['eve@example.com']);
  });

  it('takes a group to join', async () => {
    await client.run(['group', 'create', '--name', 'devs']);
    await client.run(['user', 'invite', '--email', 'eve@example.com', '--group', 'devs']);
    expect(house.mailbox.mails.at(-1)?.text).toContain('and to its group devs');
    expect((await client.run(['user', 'invite', '--email', 'x@example.com', '--group', 'none'])).code).toBe(1);
  });

  it('needs at least one address, and at most ten', async () => {
    expect((await client.run(['user', 'invite'])).stderr).toContain('--email is required');
    const many = Array.from({ length: 11 }, (_, index) => ['--email', `u${index}@example.com`]).flat();
    expect((await client.run(['user', 'invite', ...many])).code).toBe(2);
  });
});

describe('svc user tag', () => {
  it('sets, changes and removes tags of several users at once', async () => {
    const refs = ['ann@example.com', 'bob@example.com'];
    await client.run(['user', 'tag', ...refs, '--tag', 'team=a', '--tag', 'old=1']);
    const { items } = await client.json<List>('user', 'tag', ...refs, '--tag', 'team=b=c', '--remove', 'old');
    expect(items.map(({ tags }) => tags)).toEqual([{ team: 'b=c' }, { team: 'b=c' }]);
    expect((await client.json<User>('user', 'tag', 'ann@example.com', '--remove-tag', 'team')).tags).toEqual({});
    const hidden = await client.run(['user', 'tag', 'ann@example.com', '--tag', '__proto__=x']);
    expect([hidden.code, hidden.stderr]).toEqual([1, expect.stringContaining('--tag __proto__=x: ')]);
  });

  it('leaves built-in tags alone', async () => {
    const { code, stderr } = await client.run(['user', 'tag', 'ann@example.com', '--tag', 'svc/x=1']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/svc\/.*builtin_tag/)]);
  });

  it('tries all references', async () => {
    const args = ['user', 'tag', 'no@example.com', 'bob@example.com', '--tag', 'team=x'];
    const { code, stdout, stderr } = await client.run([...args, '-o', 'names']);
    expect([code, stdout, stderr]).toEqual([1, 'bob@example.com\n', expect.stringContaining('no@example.com: ')]);
  });

  it.each([[['--tag', 'team']], [['--tag', '=x']], [[]], [['--tag', 'a=1', '--remove', 'a']]])(
    '%j is a usage error',
    async (args) => {
      expect((await client.run(['user', 'tag', 'ann@example.com', ...args])).code).toBe(2);
    },
  );
});

describe('svc user update', () => {
  it('sets the description and tags to any text', async () => {
    const sets = ['description=on call = yes', 'tags.a.b/c=x=y', 'tags.-=', 'tags.d+=e'];
    const user = await client.json<User>('user', 'update', 'ann@example.com', ...sets.flatMap((set) => ['--set', set]));
    expect(user).toMatchObject({ description: 'on call = yes', tags: { 'a.b/c': 'x=y', '-': '', 'd+': 'e' } });
  });

  it.each([['name=x'], ['description'], ['description+=x'], ['tags.=x'], ['tags=x'], ['memberLinks=x']])(
    '--set %s is a usage error',
    async (set) => {
      const { code, stderr } = await client.run(['user', 'update', 'ann@example.com', '--set', set]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('--set')]);
    },
  );

  it('needs --set, and refuses to set a property twice', async () => {
    expect((await client.run(['user', 'update', 'ann@example.com'])).stderr).toContain('--set is required');
    const twice = ['--set', 'tags.a=1', '--set', 'tags.a=2'];
    expect((await client.run(['user', 'update', 'ann@example.com', ...twice])).code).toBe(2);
  });
});

describe('svc user patch', () => {
  const patch = (input: string) => client.run(['user', 'patch', 'ann@example.com', '-f', '-', '-o', 'json'], { input });

  it('merges JSON and YAML of standard input', async () => {
    expect(JSON.parse((await patch('{"tags":{"a":"1","b":"2"}}')).stdout)).toMatchObject({ tags: { a: '1', b: '2' } });
    expect(JSON.parse((await patch('tags:\n  a: null\n  c: "3"\n')).stdout)).toMatchObject({
      tags: { b: '2', c: '3' },
    });
  });

  it('accepts what get wrote, and then checks its version', async () => {
    const before = (await client.run(['user', 'get', 'ann@example.com', '-o', 'yaml'])).stdout;
    expect((await patch(before.replace('name: Ann A.', 'name: Ann B.'))).code).toBe(0);
    const late = await patch(before.replace('name: Ann A.', 'name: Ann C.'));
    expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('precondition_failed')]);
  });
});

it('svc user delete deletes all named users, and reports failures', async () => {
  const args = ['user', 'delete', 'ann@example.com', 'no@example.com', 'bob@example.com'];
  const { code, stdout, stderr } = await client.run(args);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('error: no@example.com: ');
  expect(stderr).toContain('deleted ann@example.com\n');
  expect(await client.names('user', 'get')).toEqual([]);
});

it('svc user permissions shows what can be granted', async () => {
  expect(await client.names('user', 'permissions')).toEqual(['view', 'edit', 'delete', 'invite', 'manage']);
  expect((await client.run(['user', 'permissions'])).stdout).toMatch(/^manage\t.*view, edit, delete, invite$/m);
  expect(await client.json('user', 'permissions')).toMatchObject({ kind: 'permissions', targetKind: 'user' });
  expect((await client.run(['user', 'permissions', '-o', 'tf'])).code).toBe(2);
});
