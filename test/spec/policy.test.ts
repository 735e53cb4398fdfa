import type { ControlEvent, PolicyDocument, PolicyState } from '../../src/model/control-events.js';
import { ControlRefusal } from '../../src/model/refusal.js';
import {
  decideCreatePolicy,
  decideDeleteDomain,
  decideDeleteGroup,
  decideDeletePolicy,
  decideDeleteUser,
  decideEditPolicy,
  type EditPolicy,
} from '../support/decisions.js';
import { AT, given } from './decider.js';
import { account, group, ORG, occasion, org, past, stateAfter, user } from './past.js';

const LATER = '2026-02-03T04:05:06.789Z';
const ROBOT = '/org/acme/serviceaccount/robot';
const ANN = '/org/acme/user/ann@example.com';
const CREW = '/org/acme/group/crew';

const there = past(org, account('robot'), ...user('ann@example.com'), group('crew'));
const document: PolicyDocument = {
  description: 'Who may see Ann',
  tags: { a: '1' },
  targetKind: 'user',
  targetLinks: [ANN],
  bindings: [{ permissions: ['view'], principalLinks: [ROBOT, CREW, ANN] }],
};
const create = { ...occasion('create'), org: ORG, name: 'watchers', document };
const policies = [...there, ...decideCreatePolicy(stateAfter(there), create)];
const watchers = stateAfter(policies)('policy/acme/watchers') as PolicyState;
const authz = { type: 'authz-changed', stream: 'authz/acme' } as const;

function faultsOf(decide: () => unknown): readonly string[] {
  try {
    decide();
  } catch (error) {
    if (error instanceof ControlRefusal) return error.faults.map(({ pointer }) => pointer);
    throw error;
  }
  return [];
}

describe('creating a policy', () => {
  it('makes it, and changes what anyone may do', () => {
    given(...there)
      .when((read) => decideCreatePolicy(read, create))
      .then(
        {
          type: 'policy-created',
          stream: 'policy/acme/watchers',
          auditId: 'create-1',
          data: {
            id: 'create-0',
            org: ORG,
            name: 'watchers',
            origin: 'default',
            version: 1,
            created: AT,
            lastModified: AT,
            ...document,
          },
        },
        authz,
      );
  });

  it('rests on all that it names being there', () => {
    given(...there)
      .when((read) => decideCreatePolicy(read, create))
      .thenRestsOn({
        'policy/acme/watchers': 0,
        'user/acme/ann@example.com': 1,
        'serviceaccount/acme/robot': 1,
        'group/acme/crew': 1,
        'authz/acme': expect.any(Number) as never,
      });
  });

  it.each([
    ['where the name is taken', { name: 'viewers' }, 'already_exists'],
    ['with a tag of the service', { document: { ...document, tags: { 'svc/a': '' } } }, 'builtin_tag'],
    ['on every kind', { document: { ...document, targetKind: '*' } }, 'validation_failed'],
    ['for what is not there', { document: { ...document, targetLinks: [`${ANN}x`] } }, 'validation_failed'],
  ] as const)('is refused %s', (_what, more, code) => {
    given(...there)
      .when((read) => decideCreatePolicy(read, { ...create, ...more }))
      .thenRefused(code);
  });

  it('names every fault at its place', () => {
    const faulty: PolicyDocument = {
      ...document,
      targetKind: '*',
      target: 'all',
      bindings: [{ permissions: ['none'], principalLinks: [ROBOT, '/org/acme/user/none'] }],
    };
    const faults = faultsOf(() => decideCreatePolicy(stateAfter(there), { ...create, document: faulty }));
    expect([...faults].sort()).toEqual(['/bindings/0/principalLinks/1', '/target', '/targetKind']);
  });
});

describe('editing a policy', () => {
  const edit = (revise: EditPolicy['revise'], more: Partial<EditPolicy> = {}): EditPolicy => ({
    ...occasion('edit', LATER),
    org: ORG,
    name: 'watchers',
    revise,
    ...more,
  });

  it('keeps the rest, and counts the version', () => {
    given(...policies)
      .when((read) =>
        decideEditPolicy(
          read,
          edit((before) => ({ ...before, bindings: [] })),
        ),
      )
      .then(
        {
          type: 'policy-edited',
          stream: 'policy/acme/watchers',
          auditId: 'edit-0',
          data: { ...watchers, bindings: [], version: 2, lastModified: LATER },
        },
        authz,
      );
  });

  it('leaves nothing of the target that it had', () => {
    const { targetLinks: _targetLinks, ...rest } = document;
    const decided = decideEditPolicy(
      stateAfter(policies),
      edit(() => ({ ...rest, target: 'all' })),
    );
    expect(decided[0]).toMatchObject({ data: { target: 'all' } });
    expect(decided[0]).not.toHaveProperty('data.targetLinks');
  });

  it('does nothing where the policy is as it should be', () => {
    given(...policies)
      .when((read) =>
        decideEditPolicy(
          read,
          edit((before) => before),
        ),
      )
      .then();
  });

  it.each([
    ['one that is not there', { name: 'nobody' }, 'not_found'],
    ['another version', { expected: 2 }, 'precondition_failed'],
    ['another name', { identity: { name: 'other' } }, 'validation_failed'],
    [
      'every kind',
      { revise: (before: PolicyDocument) => ({ ...before, targetKind: '*' as const }) },
      'validation_failed',
    ],
  ] as const)('is refused for %s', (_what, more, code) => {
    given(...policies)
      .when((read) =>
        decideEditPolicy(
          read,
          edit((before) => before, more),
        ),
      )
      .thenRefused(code);
  });

  it.each(['superusers', 'viewers'])('changes of %s, which is built in, how it is described alone', (name) => {
    const read = stateAfter(policies);
    const revised = (revise: EditPolicy['revise']) => () => decideEditPolicy(read, edit(revise, { name }));
    expect(revised((before) => ({ ...before, description: 'x', tags: { b: '2' } }))()).toHaveLength(2);
    for (const change of [{ bindings: [] }, { targetKind: 'user' }, { target: undefined, targetLinks: [] }]) {
      expect(revised((before) => ({ ...before, ...change }) as PolicyDocument)).toThrow(
        expect.objectContaining({ code: 'builtin_resource' }),
      );
    }
  });
});

describe('deleting a policy', () => {
  const remove = { ...occasion('delete', LATER), org: ORG, name: 'watchers' };

  it('deletes it, and changes what anyone may do', () => {
    given(...policies)
      .when((read) => decideDeletePolicy(read, remove))
      .then({ type: 'policy-deleted', stream: 'policy/acme/watchers', auditId: 'delete-0', data: watchers }, authz);
  });

  it.each([
    ['one that is not there', { name: 'nobody' }, 'not_found'],
    ['another version', { expected: 2 }, 'precondition_failed'],
    ['one that is built in', { name: 'superusers' }, 'builtin_resource'],
  ] as const)('is refused for %s', (_what, more, code) => {
    given(...policies)
      .when((read) => decideDeletePolicy(read, { ...remove, ...more }))
      .thenRefused(code);
  });
});

describe('a deleted resource', () => {
  const later = occasion('later', LATER);
  const policyAfter = (events: readonly ControlEvent[]) => stateAfter([...policies, ...events])('policy/acme/watchers');

  it('leaves every policy that names it, as a principal and as a target', () => {
    const after = policyAfter(decideDeleteUser(stateAfter(policies), { ...later, org: ORG, ref: 'ann@example.com' }));
    expect(after).toMatchObject({
      version: 2,
      lastModified: LATER,
      targetLinks: [],
      bindings: [{ permissions: ['view'], principalLinks: [ROBOT, CREW] }],
    });
  });

  it('takes a binding along that nobody is left in', () => {
    const empty = { permissions: ['delete'], principalLinks: [] };
    const alone = {
      ...document,
      bindings: [...document.bindings, { permissions: ['edit'], principalLinks: [CREW] }, empty],
    };
    const edited = decideEditPolicy(stateAfter(policies), {
      ...later,
      org: ORG,
      name: 'watchers',
      revise: () => alone,
    });
    const read = stateAfter([...policies, ...edited]);
    const after = policyAfter([...edited, ...decideDeleteGroup(read, { ...later, org: ORG, name: 'crew' })]);
    expect(after?.bindings).toEqual([{ permissions: ['view'], principalLinks: [ROBOT, ANN] }, empty]);
  });

  it('leaves all others as they are', () => {
    const domain = { type: 'domain-created', stream: 'domain/shop.example.com', auditId: 'd' } as const;
    const data = { ...watchers, name: 'shop.example.com' } as never;
    const read = stateAfter([...policies, { ...domain, data }]);
    const events = decideDeleteDomain(read, { ...later, org: ORG, name: 'shop.example.com' });
    expect(events.map(({ type }) => type)).toEqual(['domain-deleted', 'authz-changed']);
  });
});
