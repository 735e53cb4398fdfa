import type { ServiceAccountState } from '../../src/model/control-events.js';
import {
  decideCreateServiceAccount,
  decideDeleteServiceAccount,
  decideEditServiceAccount,
  type EditServiceAccount,
} from '../support/decisions.js';
import { AT, given } from './decider.js';
import { account, group, key, ORG, occasion, org, past, policy, stateAfter } from './past.js';

const LATER = '2026-02-03T04:05:06.789Z';
const ROBOT = '/org/acme/serviceaccount/robot';
const robots = past(org, account('robot'));
const robot = stateAfter(robots)('serviceaccount/acme/robot') as ServiceAccountState;

describe('creating a service account', () => {
  const create = {
    ...occasion('create'),
    org: ORG,
    name: 'robot',
    document: { description: 'A robot', tags: { a: '1' } },
  };

  it('makes it without a key', () => {
    given(...past(org))
      .when((read) => decideCreateServiceAccount(read, create))
      .then({
        type: 'serviceaccount-created',
        stream: 'serviceaccount/acme/robot',
        auditId: 'create-1',
        data: {
          id: 'create-0',
          org: ORG,
          name: 'robot',
          description: 'A robot',
          tags: { a: '1' },
          origin: 'default',
          version: 1,
          created: AT,
          lastModified: AT,
        },
      });
  });

  it('is refused where the name is taken', () => {
    given(...robots)
      .when((read) => decideCreateServiceAccount(read, create))
      .thenRefused('already_exists');
  });

  it('is refused with a tag of the service', () => {
    given(...past(org))
      .when((read) =>
        decideCreateServiceAccount(read, { ...create, document: { description: '', tags: { 'svc/a': '' } } }),
      )
      .thenRefused('builtin_tag');
  });
});

describe('editing a service account', () => {
  function edit(revise: EditServiceAccount['revise'], more: Partial<EditServiceAccount> = {}) {
    return { ...occasion('edit', LATER), org: ORG, name: 'robot', revise, ...more };
  }
  const described = edit((document) => ({ ...document, description: 'New' }));

  it('keeps the rest, and counts the version', () => {
    given(...robots)
      .when((read) => decideEditServiceAccount(read, described))
      .then({
        type: 'serviceaccount-edited',
        stream: 'serviceaccount/acme/robot',
        auditId: 'edit-0',
        data: { ...robot, description: 'New', version: 2, lastModified: LATER },
      });
  });

  it('does nothing where the account is as it should be', () => {
    given(...robots)
      .when((read) =>
        decideEditServiceAccount(
          read,
          edit((document) => document),
        ),
      )
      .then();
  });

  it('is allowed for the built-in admin', () => {
    expect(decideEditServiceAccount(stateAfter(robots), { ...described, name: 'admin' })).toHaveLength(1);
  });

  it.each([
    ['one that is not there', { name: 'nobody' }, 'not_found'],
    ['another version', { expected: 2 }, 'precondition_failed'],
    ['another origin', { identity: { origin: 'builtin' } }, 'validation_failed'],
    ['a tag of the service', { revise: () => ({ description: '', tags: { 'svc/a': '' } }) }, 'builtin_tag'],
  ] as const)('is refused for %s', (_what, more, code) => {
    given(...robots)
      .when((read) => decideEditServiceAccount(read, { ...described, ...more }))
      .thenRefused(code);
  });
});

describe('deleting a service account', () => {
  const remove = { ...occasion('delete', LATER), org: ORG, name: 'robot' };
  const bound = past(
    () => robots,
    key('robot', 'first'),
    key('robot', 'second'),
    key('admin', 'other'),
    group('robots', [ROBOT]),
    policy('robots', [ROBOT, '/org/acme/group/robots'], []),
  );

  it('takes its memberships, policy bindings and keys along', () => {
    const read = stateAfter([...bound, ...decideDeleteServiceAccount(stateAfter(bound), remove)]);
    expect(read('serviceaccount/acme/robot')).toBeUndefined();
    expect(read('group/acme/robots')?.memberLinks).toEqual([]);
    expect(read('policy/acme/robots')?.bindings[0]?.principalLinks).toEqual(['/org/acme/group/robots']);
    expect([read('key/first'), read('key/second')]).toEqual([undefined, undefined]);
    expect(read('key/other')).toBeDefined();
  });

  it('is refused for the built-in admin while it is the last superuser', () => {
    given(...robots)
      .when((read) => decideDeleteServiceAccount(read, { ...remove, name: 'admin' }))
      .thenRefused('builtin_resource');
  });

  it.each([
    ['one that is not there', { name: 'nobody' }, 'not_found'],
    ['another version', { expected: 2 }, 'precondition_failed'],
  ] as const)('is refused for %s', (_what, more, code) => {
    given(...robots)
      .when((read) => decideDeleteServiceAccount(read, { ...remove, ...more }))
      .thenRefused(code);
  });
});
