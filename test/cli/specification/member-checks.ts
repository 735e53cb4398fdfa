import { expectUsageError, type Group, type Live } from '../support/live.js';
import type { Checks } from './verify.js';

/** The group, which must be there. */
export async function made(live: Live, name: string): Promise<Group> {
  const { status, body } = await live.groups.get(name);
  expect(status).toBe(200);
  return body;
}

/** A change of members: what the command is given, and the links before and after. */
export function membership(command: 'add-member' | 'remove-member'): Checks {
  const changed = async (live: Live, ...options: readonly string[]) => {
    const [user, account, kept] = [await live.user(), await live.account(), await live.account()];
    const links = { user: live.link(user), account };
    const before = command === 'add-member' ? [kept] : [links.user, links.account, kept];
    const group = await live.group({ memberLinks: before });
    const given = { '--email': user.email, '--serviceaccount': account.split('/').at(-1) ?? '' };
    for (const option of options) await live.out(['group', command, group.name, option, given[option as '--email']]);
    const after = (await made(live, group.name)).memberLinks.filter((link) => link !== kept).sort();
    expect((await made(live, group.name)).memberLinks).toContain(kept);
    return { ...links, after };
  };
  const check =
    (...options: readonly ('--email' | '--serviceaccount')[]) =>
    async (live: Live) => {
      const { user, account, after } = await changed(live, ...options);
      const named = [
        ...(options.includes('--email') ? [user] : []),
        ...(options.includes('--serviceaccount') ? [account] : []),
      ];
      const others = [user, account].filter((link) => !named.includes(link));
      expect(after).toEqual((command === 'add-member' ? named : others).sort());
    };
  return {
    [`group ${command}`]: check('--email', '--serviceaccount'),
    [`group ${command} --email`]: check('--email'),
    [`group ${command} --serviceaccount`]: check('--serviceaccount'),
    [`group ${command} <ref>`]: async (live) => {
      const result = await live.svc(['group', command, 'no-such-group', '--email', (await live.user()).email]);
      expect([result.code, result.stderr]).toEqual([1, expect.stringContaining('not_found')]);
    },
    [`group ${command} <ref> required`]: (live) =>
      expectUsageError(live, ['group', command, '--email', 'a@example.com'], '<ref>'),
  };
}

/** Links of a group after `--set memberLinks<operator>` with two links, of which it has the second already. */
export const memberLinks = (operator: string, expected: readonly number[]) => async (live: Live) => {
  const links = [await live.account(), await live.account(), await live.account()] as const;
  const group = await live.group({ memberLinks: links.slice(1) });
  const sets = links.slice(0, 2).flatMap((link) => ['--set', `memberLinks${operator}${link}`]);
  await live.out(['group', 'update', group.name, ...sets]);
  const after = (await made(live, group.name)).memberLinks;
  expect([...after].sort()).toEqual(expected.map((index) => links[index]).sort());
};
