import { POLICY } from '../../src/kinds/policy.js';
import type { GroupDocument, PolicyDocument, PolicyState, Read } from '../../src/model/control-events.js';
import type { MemberQuery } from '../../src/model/member-query.js';
import { ControlRefusal } from '../../src/model/refusal.js';
import { decideCreate } from '../../src/model/resource-changes.js';
import {
  decideCreateGroup,
  decideCreatePolicy,
  decideEditGroup,
  decideEditPolicy,
  decideEditUser,
} from '../support/decisions.js';
import { AT } from './decider.js';
import { account, type Decision, ORG, occasion, org, past, stateAfter, user } from './past.js';

const ADMIN = '/org/acme/serviceaccount/admin';
const CI = '/org/acme/serviceaccount/ci';
const SELF = '/org/acme/user/self@example.com';
const OPS = '/org/acme/group/ops';

const by = (name: string, granter: string | null = ADMIN) => ({ ...occasion(name, AT, granter), org: ORG });

const query = (spec: MemberQuery['spec']): MemberQuery => ({ kind: 'user', fetch: 'items', spec });
const TEAM = { tag: 'team', value: 'ops' } as const;
const BY_TAG = query({ terms: [TEAM] });

function group(document: Partial<GroupDocument>, name = 'ops'): Decision {
  const whole = { description: '', tags: {}, memberLinks: [], ...document };
  return (read) => decideCreateGroup(read, { ...by(`group ${name}`, null), name, document: whole });
}

const editGroup = (change: Partial<GroupDocument>) => (read: Read) =>
  decideEditGroup(read, { ...by('edit ops'), name: 'ops', revise: (was) => ({ ...was, ...change }) });

const gives = (targetKind: PolicyDocument['targetKind'], permission: string, ...links: string[]): PolicyDocument => ({
  ...{ description: '', tags: {}, targetKind, target: 'all' },
  bindings: [{ permissions: [permission], principalLinks: links }],
});

const granting =
  (name: string, document: PolicyDocument, granter: string | null = ADMIN) =>
  (read: Read) =>
    decideCreatePolicy(read, { ...by(`policy ${name}`, granter), name, document });

const tagged = (email: string, tags: Record<string, string> = { team: 'ops' }): Decision => {
  return (read) =>
    decideEditUser(read, { ...by(`tag ${email}`, null), ref: email, revise: (was) => ({ ...was, tags }) });
};

/** `self` may edit itself, `other` may not, and both have the tag. */
const people = [
  ...[org, account('ci'), ...user('self@example.com'), ...user('other@example.com')],
  granting('edits', { ...onSelf('edit'), bindings: [{ permissions: ['edit'], principalLinks: [SELF] }] }, null),
  ...[tagged('self@example.com'), tagged('other@example.com')],
];

function onSelf(permission: string): PolicyDocument {
  const { target: _target, ...document } = gives('user', permission, SELF);
  return { ...document, targetLinks: [SELF] };
}

const byName = granting('ops', gives('auditctx', 'manage', OPS));

/** Pointers and reasons; nothing where it is not refused. */
function faults(decide: (read: Read) => unknown, ...before: readonly Decision[]): readonly (readonly string[])[] {
  try {
    decide(stateAfter(past(...before)));
    return [];
  } catch (error) {
    if (!(error instanceof ControlRefusal)) throw error;
    expect(error.code).toBe('validation_failed');
    return error.faults.map(({ pointer, reason }) => [pointer, reason]);
  }
}

const pointers = (...of: Parameters<typeof faults>) => faults(...of).map(([pointer]) => pointer);

describe('a group whose query a user matches by a tag that it can set on itself', () => {
  it('is named by no new policy, and the refusal names the user and the remedy', () => {
    expect(faults(byName, ...people, group({ memberQuery: BY_TAG }))).toEqual([
      [
        '/bindings/0/principalLinks/0',
        'must not let in users who match the memberQuery of the group by tags that they can set on themselves ' +
          '(self@example.com); take the tag from them, link them as members, or let the query read email, idp or created',
      ],
    ]);
  });

  it('is refused to a granter who may not view users without naming them', () => {
    const grantersOwn = granting('own', gives('auditctx', 'manage', CI), null);
    const before = [...people, grantersOwn, group({ memberQuery: BY_TAG })];
    const [fault] = faults(granting('ops', gives('auditctx', 'manage', OPS), CI), ...before);
    expect(fault?.[1]).toContain('on themselves; take');
  });

  it('is not told to a granter who lacks what the policy would give', () => {
    const state = stateAfter(past(...people, group({ memberQuery: BY_TAG })));
    expect(() => granting('ops', gives('auditctx', 'manage', OPS), CI)(state)).toThrow('lacks "manage"');
  });

  it('is not added to a policy, and gets no other permission or target by one', () => {
    const start = { ...onSelf('view'), bindings: [{ permissions: ['view'], principalLinks: [OPS] }] };
    const edit = (revise: (was: PolicyDocument) => PolicyDocument) => (read: Read) =>
      decideEditPolicy(read, { ...by('edit'), name: 'start', revise });
    const before = [...people, group({ memberQuery: BY_TAG }), granting('start', start, null)];
    const bound = (permission: string, ...links: string[]) => [{ permissions: [permission], principalLinks: links }];
    const { targetLinks: _targetLinks, ...toAll } = start;
    expect(
      pointers(
        edit(() => ({ ...start, bindings: bound('manage', CI, OPS) })),
        ...before,
      ),
    ).toEqual(['/bindings/0/principalLinks/1']);
    expect(
      pointers(
        edit(() => ({ ...toAll, target: 'all' })),
        ...before,
      ),
    ).toEqual(['/bindings/0/principalLinks/0']);
    expect(
      pointers(
        edit(() => ({ ...start, description: 'the same' })),
        ...before,
      ),
    ).toEqual([]);
    const otherwise = [...people, group({ memberQuery: BY_TAG }), granting('start', gives('user', 'view', CI), null)];
    expect(
      pointers(
        edit(() => gives('user', 'view', CI, OPS)),
        ...otherwise,
      ),
    ).toEqual(['/bindings/0/principalLinks/1']);
  });

  it('does not get that query when a policy names it', () => {
    const named = [...people, group({}), granting('ops', gives('auditctx', 'manage', OPS), null)];
    expect(pointers(editGroup({ memberQuery: BY_TAG }), ...named)).toEqual(['/memberQuery']);
    expect(pointers(editGroup({ memberQuery: query({ terms: [{ ...TEAM, value: 'x' }] }) }), ...named)).toEqual([]);
    expect(pointers(editGroup({ memberQuery: BY_TAG }), ...people, group({}))).toEqual([]);
  });

  it('keeps the query that it had while the rest of it changes', () => {
    const named = granting('ops', gives('auditctx', 'manage', OPS), null);
    expect(pointers(editGroup({ description: 'x' }), ...people, group({ memberQuery: BY_TAG }), named)).toEqual([]);
  });

  it.each<[string, readonly Decision[]]>([
    ['has no such tag any more', [tagged('self@example.com', {}), group({ memberQuery: BY_TAG })]],
    ['is linked as a member', [group({ memberQuery: BY_TAG, memberLinks: [SELF] })]],
    ['has what is given', [group({ memberQuery: BY_TAG }), granting('has', gives('auditctx', 'manage', SELF), null)]],
  ])('may be named when the user %s', (_what, rest) => {
    expect(pointers(byName, ...people, ...rest)).toEqual([]);
  });

  it('is found when a group gives the user edit on itself', () => {
    const editors = '/org/acme/group/editors';
    const other = '/org/acme/user/other@example.com';
    const asEditor = [
      group({ memberLinks: [other], memberQuery: query({ terms: [{ property: 'email', value: 'x' }] }) }, 'editors'),
      granting('editors', gives('user', 'manage', editors), null),
    ];
    const [fault] = faults(byName, ...people, ...asEditor, group({ memberQuery: BY_TAG }));
    expect(fault?.[1]).toContain('(self@example.com, other@example.com)');
  });
});

describe('a query rests on the tags of a user', () => {
  const EMAIL = { property: 'email', value: 'self@example.com' } as const;
  it.each<[string, MemberQuery['spec'], boolean]>([
    ['all terms, one of them a tag', { terms: [EMAIL, TEAM] }, true],
    ['a tag by its path', { terms: [{ property: 'tags.team', value: 'ops' }] }, true],
    ['any term, and another holds', { match: 'any', terms: [EMAIL, TEAM] }, false],
    ['any term, and no other holds', { match: 'any', terms: [{ ...EMAIL, value: 'x' }, TEAM] }, true],
    ['no term, one of them a tag', { match: 'none', terms: [{ tag: 'floor', op: 'exists' }] }, true],
    ['a tag of the service', { terms: [{ tag: 'svc/x', op: '!exists' }] }, false],
    ['the address', { terms: [EMAIL] }, false],
  ])('with %s', (_what, spec, isRefused) => {
    expect(pointers(byName, ...people, group({ memberQuery: query(spec) }))).toHaveLength(isRefused ? 1 : 0);
  });
});

it('looks at one user a step, so that a change beside many users can be cut into slices', () => {
  const many = Array.from({ length: 50 }, (_, n) => user(`user-${n}@example.com`)).flat();
  const read = stateAfter(past(...people, ...many, group({ memberQuery: query({ terms: [{ tag: 'none' }] }) })));
  const command = { ...by('policy ops'), name: 'ops', document: gives('auditctx', 'manage', OPS) };
  const steps = [...decideCreate<PolicyState, PolicyDocument>(POLICY, read, command)];
  expect(steps.length).toBeGreaterThanOrEqual(read.all('user', ORG).length);
});
