import type { Live } from '../support/live.js';

export interface Call {
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
  readonly input?: string;
}

const user = async (live: Live) => (await live.user()).email;
const group = async (live: Live) => (await live.group()).name;

/** The least that each command must be given to succeed. */
export const EVERY_COMMAND: Readonly<Record<string, (live: Live) => Promise<Call>>> = {
  'user access-report': async (live) => ({ args: [await user(live)] }),
  'user delete': async (live) => ({ args: [await user(live)] }),
  'user edit': async (live) => ({ args: [await user(live)], env: { EDITOR: 'true' } }),
  'user eventlog': async (live) => ({ args: [await user(live)] }),
  'user get': async () => ({ args: [] }),
  'user invite': async (live) => ({ args: ['--email', `${live.name('guest')}@example.com`] }),
  'user patch': async (live) => ({ args: [await user(live), '--file', '-'], input: 'description: x\n' }),
  'user permissions': async () => ({ args: [] }),
  'user query': async () => ({ args: [] }),
  'user tag': async (live) => ({ args: [await user(live), '--tag', 'a=b'] }),
  'user update': async (live) => ({ args: [await user(live), '--set', 'description=x'] }),
  'group access-report': async (live) => ({ args: [await group(live)] }),
  'group add-member': async (live) => ({ args: [await group(live), '--email', await user(live)] }),
  'group clone': async (live) => ({ args: [await group(live), '--name', live.name('copy')] }),
  'group create': async (live) => ({ args: ['--name', live.name('made')] }),
  'group delete': async (live) => ({ args: [await group(live)] }),
  'group edit': async (live) => ({ args: [await group(live)], env: { EDITOR: 'true' } }),
  'group eventlog': async (live) => ({ args: [await group(live)] }),
  'group get': async () => ({ args: [] }),
  'group patch': async (live) => ({ args: [await group(live), '--file', '-'], input: 'description: x\n' }),
  'group permissions': async () => ({ args: [] }),
  'group query': async () => ({ args: [] }),
  'group remove-member': async (live) => {
    const [email, name] = [await user(live), await group(live)];
    await live.groups.patch(name, { memberLinks: [`/org/${live.org.name}/user/${email}`] });
    return { args: [name, '--email', email] };
  },
  'group tag': async (live) => ({ args: [await group(live), '--tag', 'a=b'] }),
  'group update': async (live) => ({ args: [await group(live), '--set', 'description=x'] }),
};
