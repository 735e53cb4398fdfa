import { expectUsageError, type Live } from '../support/live.js';
import { deletion, editing, patching, tagging, updating } from './changing-checks.js';
import { accessReport, eventLog, matching, permissions } from './reading-checks.js';
import type { Checks } from './verify.js';

const INVITED_AT_ONCE = 'ann.invited@example.com';

/** Two users, of whom only the first has the tag and the description. */
async function pair(live: Live) {
  const mark = live.name('mark');
  const [one, other] = [await live.user({ description: mark, tags: { mark } }), await live.user()];
  return { mark, one: one.email, other: other.email };
}

/** Who of the two a query finds; others of the organization do not count. */
async function found(live: Live, { one, other }: { one: string; other: string }, ...terms: string[]) {
  const names = await live.names(['user', 'query', '--max', '0', ...terms]);
  return [names.includes(one), names.includes(other)];
}

/** One check for each promise of the users' table. */
export const USER_CHECKS: Checks = {
  ...accessReport('user'),
  ...editing('user'),
  ...eventLog('user'),
  ...patching('user'),
  ...permissions('user'),
  ...tagging('user'),
  ...updating('user'),

  ...deletion('user'),
  'user delete': async (live) => {
    const user = await live.user();
    const group = await live.group({ memberLinks: [live.link(user)] });
    const bindings = [{ permissions: ['view'], principalLinks: [live.link(user)] }];
    const policy = { name: live.name('policy'), targetKind: 'group', target: 'all', bindings };
    const policies = `/org/${live.org.name}/policy`;
    expect((await live.org.api.post(policies, policy)).status).toBe(201);
    await live.out(['user', 'delete', user.email]);
    expect((await live.users.get(user.email)).status).toBe(404);
    expect((await live.groups.get(group.name)).body.memberLinks).toEqual([]);
    const { text } = await live.org.api.get(`${policies}/${policy.name}`);
    expect(text).not.toContain(user.email);
  },

  'user get': async (live) => {
    const users = [await live.user(), await live.user(), await live.user()];
    const [one, two] = users.map(({ email }) => email) as [string, string, string];
    expect(await live.names(['user', 'get', one, two])).toEqual([one, two].sort());
    expect(JSON.parse(await live.out(['user', 'get', one, '-o', 'json']))).toEqual((await live.users.get(one)).body);
  },
  'user get [ref...]': async (live) => {
    const user = await live.user();
    expect(await live.names(['user', 'get', user.email])).toEqual([user.email]);
    expect(await live.names(['user', 'get', user.id])).toEqual([user.email]);
  },
  'user get [ref...] optional': async (live) => {
    await live.user();
    const all = (await live.users.list('?limit=1000')).body.items.map(({ email }) => email);
    expect(await live.names(['user', 'get', '--max', '0'])).toEqual(all.sort());
  },
  'user get columns id, full name, email, created, identity provider, tags': async (live) => {
    const user = await live.user({ name: 'Ann Smith', tags: { team: 'blue' } });
    const [row = ''] = (await live.out(['user', 'get', user.email])).split('\n');
    expect(row.split('\t')).toEqual([user.id, 'Ann Smith', user.email, user.created, 'invitation', 'team=blue']);
  },

  'user invite': async (live) => {
    const email = `${live.name('guest')}@example.com`;
    await live.out(['user', 'invite', '--email', email]);
    const { body } = await live.org.api.get<{ items: { email: string }[] }>(`/org/${live.org.name}/invitation`);
    expect(body.items.map((one) => one.email)).toContain(email);
    expect(live.mailbox.code(email)).toMatch(/./);
  },
  'user invite --email': async (live) => {
    await live.out(['user', 'invite', '--email', INVITED_AT_ONCE]);
    expect(live.mailbox.mails.map(({ to }) => to)).toContainEqual([INVITED_AT_ONCE]);
  },
  'user invite --email required': (live) => expectUsageError(live, ['user', 'invite', '--group', 'g'], '--email'),
  'user invite --group': async (live) => {
    const [group, email] = [await live.group(), `${live.name('guest')}@example.com`];
    await live.out(['user', 'invite', '--email', email, '--group', group.name]);
    await accept(live, email);
    expect((await live.groups.get(group.name)).body.memberLinks).toEqual([`/org/${live.org.name}/user/${email}`]);
  },
  'user invite --group optional': async (live) => {
    const email = `${live.name('guest')}@example.com`;
    await live.out(['user', 'invite', '--email', email]);
    await accept(live, email);
    const { body } = await live.groups.query({ spec: { terms: [{ rel: 'member', value: email }] } });
    expect(body.items).toEqual([]);
  },

  'user query': async (live) => {
    const users = await pair(live);
    expect(await found(live, users, '--property', `email=${users.one}`, '--tag', `mark=${users.mark}`)).toEqual([
      true,
      false,
    ]);
  },
  'user query --match': async (live) => {
    const users = await pair(live);
    expect(await found(live, users, '--match', 'none', '--tag', `mark=${users.mark}`)).toEqual([false, true]);
    const { code, stderr } = await live.svc(['user', 'query', '--match', 'some']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--match')]);
  },
  ...matching('user'),
  'user query --property': async (live) => {
    const users = await pair(live);
    expect(await found(live, users, '--property', `email=${users.other}`)).toEqual([false, true]);
  },
  'user query --property alias --prop': async (live) => {
    const users = await pair(live);
    expect(await found(live, users, '--prop', `description=${users.mark}`)).toEqual([true, false]);
  },
  'user query --tag': async (live) => {
    const users = await pair(live);
    expect(await found(live, users, '--tag', `mark=${users.mark}`)).toEqual([true, false]);
  },
  'user query --rel': async (live) => {
    const users = await pair(live);
    const group = await live.group({ memberLinks: [`/org/${live.org.name}/user/${users.other}`] });
    expect(await found(live, users, '--rel', `group=${group.name}`)).toEqual([false, true]);
  },
  'user query key=value': async (live) => {
    const users = await pair(live);
    await live.users.patch(users.other, { tags: { formula: 'a=b' } });
    expect(await found(live, users, '--tag', 'formula=a=b')).toEqual([false, true]);
  },
};

async function accept(live: Live, email: string): Promise<void> {
  const { body } = await live.org.api.get<{ items: { id: string; email: string }[] }>(
    `/org/${live.org.name}/invitation`,
  );
  const id = body.items.find((one) => one.email === email)?.id ?? '';
  const path = `/org/${live.org.name}/invitation/${id}/-accept`;
  expect((await live.anonymous.post(path, { code: live.mailbox.code(email), name: 'Guest' })).status).toBe(201);
}
