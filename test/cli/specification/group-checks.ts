import { expectUsageError, type Group, type Live } from '../support/live.js';
import { deletion, editing, patching, tagging, updating } from './changing-checks.js';
import { made, memberLinks, membership } from './member-checks.js';
import { accessReport, eventLog, matching, permissions } from './reading-checks.js';
import type { Checks } from './verify.js';

async function created(live: Live, ...options: string[]): Promise<Group> {
  const name = live.name('created');
  await live.out(['group', 'create', '--name', name, ...options]);
  return made(live, name);
}

/** The copy of a group that has everything. */
async function cloned(live: Live, command: string, ...options: string[]) {
  const user = await live.user();
  const spec = { match: 'any', terms: [{ tag: 'team', value: 'blue' }] };
  const group = await live.group({
    description: 'of the original',
    tags: { of: 'the-original' },
    memberLinks: [live.link(user)],
    memberQuery: { kind: 'user', fetch: 'items', spec },
  });
  const name = live.name('copy');
  await live.out(['group', command, group.name, '--name', name, ...options]);
  return { group, name, copy: await made(live, name) };
}

const terms = ({ memberQuery }: Group) => memberQuery?.spec.terms;

/** Two groups; which of them a query finds. */
async function found(live: Live, ...termsOf: ((group: Group) => string)[]) {
  const groups = [await live.group({ tags: { team: 'blue' }, description: live.name('one') }), await live.group()];
  const [one] = groups as [Group];
  const options = termsOf.map((term) => term(one));
  const names = await live.names(['group', 'query', '--max', '0', ...options]);
  return groups.map(({ name }) => names.includes(name));
}

/** One check for each promise of the groups' table. */
export const GROUP_CHECKS: Checks = {
  ...accessReport('group'),
  ...editing('group'),
  ...eventLog('group'),
  ...patching('group'),
  ...permissions('group'),
  ...tagging('group'),
  ...updating('group'),
  ...membership('add-member'),
  ...membership('remove-member'),

  'group update memberLinks': memberLinks('+=', [0, 1, 2]),
  'group update memberLinks +=': memberLinks('+=', [0, 1, 2]),
  'group update memberLinks =': memberLinks('=', [0, 1]),
  'group update memberLinks -=': memberLinks('-=', [2]),

  ...deletion('group'),
  'group delete': async (live) => {
    const group = await live.group();
    await live.out(['group', 'delete', group.name]);
    expect((await live.groups.get(group.name)).status).toBe(404);
  },

  'group clone': async (live) => {
    const { group, copy } = await cloned(live, 'clone');
    expect([copy.memberLinks, copy.memberQuery]).toEqual([group.memberLinks, group.memberQuery]);
    expect([copy.tags, copy.origin, copy.version]).toEqual([{}, 'default', 1]);
    expect(await made(live, group.name)).toEqual(group);
  },
  'group clone alias copy': async (live) => {
    const { group, copy } = await cloned(live, 'copy');
    expect([copy.memberLinks, copy.memberQuery]).toEqual([group.memberLinks, group.memberQuery]);
  },
  'group clone <ref>': async (live) => {
    const result = await live.svc(['group', 'clone', 'no-such-group', '--name', live.name('copy')]);
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining('not_found')]);
  },
  'group clone <ref> required': (live) => expectUsageError(live, ['group', 'clone', '--name', 'copy'], '<ref>'),
  'group clone --name': async (live) => {
    const { name, copy } = await cloned(live, 'clone');
    expect(copy.name).toBe(name);
  },
  'group clone --name required': (live) => expectUsageError(live, ['group', 'clone', 'superusers'], '--name'),
  'group clone --description': async (live) =>
    expect((await cloned(live, 'clone', '--description', 'of the copy')).copy.description).toBe('of the copy'),
  'group clone --description default the name': async (live) => {
    const { name, copy } = await cloned(live, 'clone');
    expect(copy.description).toBe(name);
  },
  'group clone --tag': async (live) =>
    expect((await cloned(live, 'clone', '--tag', 'a=1', '--tag', 'b=2')).copy.tags).toEqual({ a: '1', b: '2' }),

  'group create': async (live) => {
    const { memberLinks, memberQuery, origin } = await created(live);
    expect([memberLinks, memberQuery, origin]).toEqual([[], undefined, 'default']);
  },
  'group create --name': async (live) => {
    const name = live.name('named');
    await live.out(['group', 'create', '--name', name]);
    expect((await made(live, name)).name).toBe(name);
  },
  'group create --name required': (live) => expectUsageError(live, ['group', 'create', '--description', 'x'], '--name'),
  'group create --description': async (live) =>
    expect((await created(live, '--description', 'for blue')).description).toBe('for blue'),
  'group create --description alias --desc': async (live) =>
    expect((await created(live, '--desc', 'for blue')).description).toBe('for blue'),
  'group create --description default the name': async (live) => {
    const { name, description } = await created(live);
    expect(description).toBe(name);
  },
  'group create --tag': async (live) =>
    expect((await created(live, '--tag', 'a=1', '--tag', 'b=x=y')).tags).toEqual({ a: '1', b: 'x=y' }),
  'group create --query-match': async (live) => {
    const { memberQuery } = await created(live, '--query-match', 'any', '--query-tag', 'team=blue');
    expect(memberQuery?.spec.match).toBe('any');
    const refused = await live.svc(['group', 'create', '--name', live.name('no'), '--query-match', 'some']);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--query-match')]);
  },
  ...Object.fromEntries(
    (['all', 'none', 'any'] as const).map((match) => [
      `group create --query-match choice ${match}`,
      async (live: Live) => {
        const [one, other] = [await live.user({ tags: { a: '1' } }), await live.user({ tags: { a: '1', b: '1' } })];
        const { name } = await created(live, '--query-match', match, '--query-tag', 'a=1', '--query-tag', 'b=1');
        const members = await memberEmails(live, name);
        expect([one, other].map(({ email }) => members.includes(email))).toEqual(
          { all: [false, true], none: [false, false], any: [true, true] }[match],
        );
      },
    ]),
  ),
  'group create --query-match default all': async (live) =>
    expect((await created(live, '--query-tag', 'team=blue')).memberQuery?.spec.match).toBe('all'),
  'group create --query-property': async (live) => {
    const user = await live.user();
    const group = await created(live, '--query-property', `email=${user.email}`);
    expect(terms(group)).toEqual([expect.objectContaining({ property: 'email', value: user.email })]);
    expect(await memberEmails(live, group.name)).toEqual([user.email]);
  },
  'group create --query-tag': async (live) => {
    const user = await live.user({ tags: { only: live.name('mark') } });
    const group = await created(live, '--query-tag', `only=${user.tags.only}`);
    expect(await memberEmails(live, group.name)).toEqual([user.email]);
  },
  'group create --query-rel': async (live) => {
    const other = await live.group();
    const group = await created(live, '--query-rel', `group=${other.name}`);
    expect(terms(group)).toEqual([expect.objectContaining({ rel: 'group', value: other.name })]);
  },
  'group create --query-kind': async (live) => {
    const refused = await live.svc(['group', 'create', '--name', live.name('no'), '--query-kind', 'domain']);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--query-kind')]);
  },
  'group create --query-kind choice user': async (live) =>
    expect((await created(live, '--query-kind', 'user', '--query-tag', 'a=b')).memberQuery?.kind).toBe('user'),

  'group get': async (live) => {
    const groups = [(await live.group()).name, (await live.group()).name];
    expect(await live.names(['group', 'get', ...groups])).toEqual(groups.sort());
  },
  'group get [ref...]': async (live) => {
    const group = await live.group();
    expect(JSON.parse(await live.out(['group', 'get', group.name, '-o', 'json']))).toEqual(group);
  },
  'group get [ref...] optional': async (live) => {
    const all = (await live.groups.list('?limit=1000')).body.items.map(({ name }) => name);
    expect(await live.names(['group', 'get', '--max', '0'])).toEqual(all.sort());
  },
  'group get columns name, description, created, filter, origin, tags': async (live) => {
    const { name, created: at } = await live.group({ description: 'The Blues', tags: { team: 'blue' } });
    const [row = ''] = (await live.out(['group', 'get', name])).split('\n');
    expect(row.split('\t')).toEqual([name, 'The Blues', at, 'links', 'default', 'team=blue']);
  },

  'group query': (live) =>
    found(
      live,
      ({ name }) => `--property=name=${name}`,
      () => '--tag=team=blue',
    ).then((result) => expect(result).toEqual([true, false])),
  'group query --match': async (live) => {
    const { code, stderr } = await live.svc(['group', 'query', '--match', 'some']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--match')]);
  },
  ...matching('group'),
  'group query --property': async (live) =>
    expect(await found(live, ({ name }) => `--property=name=${name}`)).toEqual([true, false]),
  'group query --property alias --prop': async (live) =>
    expect(await found(live, ({ name }) => `--prop=name=${name}`)).toEqual([true, false]),
  'group query --tag': async (live) => expect(await found(live, () => '--tag=team=blue')).toEqual([true, false]),
  'group query --rel': async (live) => {
    const user = await live.user();
    const group = await live.group({ memberLinks: [live.link(user)] });
    const names = await live.names(['group', 'query', '--max', '0', '--rel', `member=${user.email}`]);
    expect([names.includes(group.name), names.includes('viewers')]).toEqual([true, false]);
  },
  'group query name': async (live) =>
    expect(await found(live, ({ name }) => `--property=name=${name}`)).toEqual([true, false]),
  'group query description': async (live) =>
    expect(await found(live, ({ description }) => `--property=description=${description}`)).toEqual([true, false]),
};

async function memberEmails(live: Live, group: string): Promise<string[]> {
  const { body } = await live.users.query({ spec: { terms: [{ rel: 'group', value: group }] } }, '?limit=1000');
  return body.items.map(({ email }) => email);
}
