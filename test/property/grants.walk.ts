import { linkTo } from '../../src/contract/links.js';
import type { ControlEvent, GroupDocument, PolicyDocument, Read } from '../../src/model/control-events.js';
import { decideAcceptInvitation, decideInviteUsers, decideRevokeInvitation } from '../../src/model/invitation.js';
import { decideAddKey, decideRemoveKey, type KeyHolder } from '../../src/model/key.js';
import type { MemberQuery } from '../../src/model/member-query.js';
import { permissionsOn, TARGET_KINDS, type TargetKind } from '../../src/model/permission.js';
import type { Occasion } from '../../src/model/resource.js';
import { account, type Decision, group, ORG, occasion, org, policy, user } from '../spec/past.js';
import {
  decideCreateGroup,
  decideCreatePolicy,
  decideCreateServiceAccount,
  decideDeleteGroup,
  decideDeletePolicy,
  decideDeleteServiceAccount,
  decideDeleteUser,
  decideEditGroup,
  decideEditPolicy,
  decideEditUser,
} from '../support/decisions.js';
import fc from '../support/fast-check.js';

/** One step of a walk: what is tried, and numbers that say on what. */
export interface Step {
  readonly what: (typeof OPERATIONS)[number];
  readonly by: number;
  readonly n: readonly number[];
}

const OPERATIONS = [
  ...['create policy', 'create policy', 'edit policy', 'edit policy', 'widen policy', 'delete policy'],
  ...['create group', 'link', 'link', 'unlink', 'set query', 'clear query', 'delete group'],
  ...['create account', 'create account', 'delete account', 'add key', 'remove key'],
  ...[
    'invite',
    'invite',
    'accept',
    'accept',
    'accept',
    'revoke invitation',
    'edit user',
    'edit user',
    'edit user',
    'delete user',
  ],
] as const;

const number = fc.nat({ max: 999 });
export const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom(...OPERATIONS),
  by: number,
  n: fc.array(number, { minLength: 10, maxLength: 10 }),
});

const link = (kind: string, name: string) => `/org/${ORG}/${kind}/${name}`;
const GROUPS = ['devs', 'ops', 'crew', 'staff'];
const POLICIES = ['p-one', 'p-two', 'p-three', 'p-four', 'p-five'];
const ACCOUNTS = ['robot', 'ci', 'deploy', 'probe'];
const ADDRESSES = ['ann@x.org', 'ben@x.org', 'cem@y.org', 'dan@y.org'];
const NAMES = ['Ann', 'Boss'];

const pick = <T>(from: readonly T[], n = 0): T => from[n % from.length] as T;

const QUERIES: readonly (MemberQuery['spec'] & object)[] = [
  { terms: [{ property: 'email', op: '~', value: 'x.org' }] },
  { terms: [{ property: 'email', value: 'cem@y.org' }] },
  { terms: [{ tag: 'team', value: 'red' }] },
  { match: 'none', terms: [{ tag: 'team', op: 'exists' }] },
  {
    match: 'any',
    terms: [
      { tag: 'team', value: 'blue' },
      { rel: 'group', value: 'devs' },
    ],
  },
  { terms: [{ rel: 'group', value: 'ops' }] },
  { terms: [{ rel: 'group', op: '!=', value: 'crew' }] },
  { match: 'none', terms: [{ rel: 'group', value: 'staff' }] },
  { terms: [{ property: 'name', value: 'Boss' }] },
  { match: 'none', terms: [{ property: 'name', value: 'Ann' }] },
];
export const TAGS: readonly Record<string, string>[] = [{}, { team: 'red' }, { team: 'blue' }, { team: 'green' }];

const query = (n = 0): MemberQuery => ({ kind: 'user', fetch: 'items', spec: pick(QUERIES, n) });

/** What there is when a walk begins: accounts and users, query groups that policies name, and who may invite. */
export const BEGINNING: readonly Decision[] = [
  org,
  ...ACCOUNTS.map((name) => account(name)),
  ...ADDRESSES.slice(0, 3).flatMap((email) => user(email)),
  group('ops'),
  group('crew', [link('user', 'ann@x.org'), link('user', 'ben@x.org'), link('serviceaccount', 'probe')]),
  ...['viewers', 'crew', 'ops'].map((name, index) => queried(name, 2 + 2 * index)),
  policy('p-one', [link('group', 'crew'), link('serviceaccount', 'robot')], [link('user', 'ann@x.org')]),
  policy('p-two', [link('group', 'ops')], [link('user', 'ben@x.org'), link('user', 'cem@y.org')]),
  granted('p-three', 'user', ['invite'], [link('serviceaccount', 'ci')]),
  granted('p-four', 'group', ['edit'], [link('serviceaccount', 'ci'), link('serviceaccount', 'deploy')]),
  granted('p-self', 'user', ['edit'], [link('user', 'cem@y.org')]),
  ...['new@x.org', 'dan@y.org'].map((email) => (read: Read) => inviting(read, email)),
];

function queried(name: string, n: number): Decision {
  return editGroup({ org: ORG, ...occasion(`query ${name}`) }, name, (was) => ({ ...was, memberQuery: query(n) }));
}

function granted(name: string, targetKind: TargetKind, permissions: string[], principalLinks: string[]): Decision {
  const bindings = [{ permissions, principalLinks }];
  const document = { description: '', tags: {}, targetKind, target: 'all', bindings } as const;
  return (read) => decideCreatePolicy(read, { ...occasion(name), org: ORG, name, document });
}

function inviting(read: Read, email: string): ControlEvent[] {
  const by = occasion(`invite ${email}`, undefined, link('serviceaccount', 'admin'));
  return decideInviteUsers(read, { ...by, org: ORG, invited: [{ email, codeHash: 'code' }], group: 'crew' });
}

/** What the step asks for, as a function of the state; undefined where the state has nothing that it could be about. */
export function decisionOf(
  { what, n }: Step,
  moment: Occasion,
  read: Read,
  principals: readonly string[],
): ((read: Read) => ControlEvent[]) | undefined {
  const [a, b, c, d, e] = n;
  const name = { org: ORG, ...moment };
  const document = policyOf(n, principals, read);
  const groups = namesOf(read, 'group');
  const policies = namesOf(read, 'policy');
  const accounts = namesOf(read, 'serviceaccount');
  const users = read.all('user', ORG).map(({ email }) => email);
  const holder = (who = 0, kind = 0): KeyHolder =>
    kind % 3 === 0 && users.length > 0
      ? { org: ORG, kind: 'user', ref: pick(users, who) }
      : { org: ORG, kind: 'serviceaccount', ref: pick(accounts, who) };
  switch (what) {
    case 'create policy':
      return (at) => decideCreatePolicy(at, { ...name, name: pick(POLICIES, a), document });
    case 'edit policy':
      return (at) => decideEditPolicy(at, { ...name, name: pick(policies, a), revise: () => document });
    case 'widen policy':
      return (at) =>
        decideEditPolicy(at, { ...name, name: pick(policies, a), revise: (was) => widened(was, document, b) });
    case 'delete policy':
      return (at) => decideDeletePolicy(at, { ...name, name: pick(policies, a) });
    case 'create group': {
      const memberLinks = (b ?? 0) % 2 === 0 ? [pick(principals, c)] : [];
      const made = { description: '', tags: {}, memberLinks, ...((d ?? 0) % 2 === 0 && { memberQuery: query(e) }) };
      return (at) => decideCreateGroup(at, { ...name, name: pick(GROUPS, a), document: made });
    }
    case 'link':
      return editGroup(name, pick(groups, a), (was) => ({
        ...was,
        memberLinks: [...was.memberLinks, pick(principals, b)],
      }));
    case 'unlink':
      return editGroup(name, pick(groups, a), (was) => ({ ...was, memberLinks: was.memberLinks.slice(1) }));
    case 'set query':
      return editGroup(name, pick(groups, a), (was) => ({ ...was, memberQuery: query(b) }));
    case 'clear query':
      return editGroup(name, pick(groups, a), ({ memberQuery: _memberQuery, ...rest }) => rest);
    case 'delete group':
      return (at) => decideDeleteGroup(at, { ...name, name: pick(groups, a) });
    case 'create account':
      return (at) =>
        decideCreateServiceAccount(at, { ...name, name: pick(ACCOUNTS, a), document: { description: '', tags: {} } });
    case 'delete account':
      return (at) => decideDeleteServiceAccount(at, { ...name, name: pick(ACCOUNTS, a) });
    case 'add key':
      return (at) => decideAddKey(at, { ...moment, holder: holder(a, b), description: '', keyHash: moment.id(99) });
    case 'remove key': {
      const { org, kind, ref } = holder(a, b);
      const [key] = read.keysOf(linkTo(org, kind, ref));
      return key && ((at) => decideRemoveKey(at, { ...moment, holder: { org, kind, ref }, keyId: key.state.id }));
    }
    case 'invite': {
      const invited = [{ email: pick(ADDRESSES, a), codeHash: 'code' }];
      return (at) => decideInviteUsers(at, { ...name, invited, ...((b ?? 0) % 3 > 0 && { group: pick(groups, c) }) });
    }
    case 'accept': {
      const open = read.all('invitation', ORG);
      if (open.length === 0) return undefined;
      const accepted = { org: ORG, at: moment.at, id: moment.id, invitation: pick(open, a).id, codeHash: 'code' };
      return (at) => decideAcceptInvitation(at, { ...accepted, name: pick(NAMES, b), keyHash: moment.id(99) });
    }
    case 'revoke invitation': {
      const open = read.all('invitation', ORG);
      return open.length === 0
        ? undefined
        : (at) => decideRevokeInvitation(at, { ...name, invitation: pick(open, a).id });
    }
    case 'edit user': {
      const revise = () => ({ name: pick(NAMES, b), description: '', tags: pick(TAGS, c) });
      return (at) => decideEditUser(at, { ...name, ref: pick(users, a) ?? '', revise });
    }
    case 'delete user':
      return (at) => decideDeleteUser(at, { ...name, ref: pick(users, a) ?? '' });
  }
  throw new Error(`nobody said what ${what} is`);
}

function editGroup(
  base: Occasion & { readonly org: string },
  name: string,
  revise: (document: GroupDocument) => GroupDocument,
): (read: Read) => ControlEvent[] {
  return (read) => decideEditGroup(read, { ...base, name, revise });
}

function namesOf(read: Read, kind: 'group' | 'policy' | 'serviceaccount'): readonly string[] {
  return read.all(kind, ORG).map(({ name }) => name);
}

/** A policy on things that there are, for principals and groups that there are. */
function policyOf(n: readonly number[], principals: readonly string[], read: Read): PolicyDocument {
  const [, b, c, d, e, f, g, h, i] = n;
  const targetKind = pick(TARGET_KINDS, b);
  const groups = read.all('group', ORG).map(({ name }) => link('group', name));
  const targets: Readonly<Record<string, readonly string[]>> = {
    group: groups,
    policy: read.all('policy', ORG).map(({ name }) => link('policy', name)),
    auditctx: [link('auditctx', 'app'), link('auditctx', 'web')],
    domain: [],
    user: principals.filter((one) => one.includes('/user/')),
    serviceaccount: principals.filter((one) => one.includes('/serviceaccount/')),
  };
  const some = targets[targetKind] ?? [];
  const names = permissionsOn(targetKind).map((permission) => permission.name);
  const anybody = [...principals, ...groups, ...groups];
  return {
    ...{ description: '', tags: {}, targetKind },
    ...((c ?? 0) % 2 === 0 || some.length === 0
      ? { target: 'all' as const }
      : { targetLinks: [pick(some, d), pick(some, e)] }),
    bindings: [{ permissions: [pick(names, f), pick(names, g)], principalLinks: [pick(anybody, h), pick(anybody, i)] }],
  };
}

/** The policy with a principal, a permission or a target more, or only fewer of them. */
function widened(was: PolicyDocument, other: PolicyDocument, n = 0): PolicyDocument {
  const [first] = was.bindings;
  const [more] = other.bindings;
  if (!first || !more) return { ...was, bindings: other.bindings };
  switch (n % 4) {
    case 0:
      return { ...was, bindings: [{ ...first, principalLinks: [...first.principalLinks, ...more.principalLinks] }] };
    case 1:
      return was.targetKind === other.targetKind
        ? { ...was, bindings: [{ ...first, permissions: [...first.permissions, ...more.permissions] }] }
        : was;
    case 2: {
      const { target: _target, targetLinks: _targetLinks, ...rest } = was;
      const { target, targetLinks } = other;
      return was.targetKind === other.targetKind
        ? { ...rest, ...(target && { target }), ...(targetLinks && { targetLinks }) }
        : was;
    }
    default:
      return { ...was, bindings: was.bindings.slice(1) };
  }
}
