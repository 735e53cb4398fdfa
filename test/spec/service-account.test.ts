import { principalOf } from '../../src/model/access.js';
import type { ControlEvent, Read } from '../../src/model/control-events.js';
import {
  decideAddKey,
  decideCreateServiceAccount,
  decideDeleteServiceAccount,
  decideEditServiceAccount,
  decideRemoveKey,
  type EditServiceAccount,
  type ServiceAccountState,
} from '../../src/model/service-account.js';
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

describe('adding a key', () => {
  const add = { ...occasion('add'), org: ORG, name: 'robot', description: 'For the build', keyHash: 'abc' };

  it('keeps its hash, and until when it is good', () => {
    given(...robots)
      .when((read) => decideAddKey(read, { ...add, expires: LATER }))
      .then(
        {
          type: 'key-issued',
          stream: 'key/abc',
          auditId: 'add-1',
          data: { id: 'add-0', org: ORG, principal: ROBOT, description: 'For the build', issued: AT, expires: LATER },
        },
        { type: 'authz-changed', stream: 'authz/acme' },
      );
  });

  it('rests on the account being there, and on its other keys', () => {
    given(...robots)
      .when((read) => decideAddKey(read, add))
      .thenRestsOn({ 'serviceaccount/acme/robot': 1, 'key/abc': 0, 'authz/acme': 1 });
  });

  it.each([AT, '2026-01-01T00:00:00.000Z'])('is refused where it would have expired at %s', (expires) => {
    given(...robots)
      .when((read) => decideAddKey(read, { ...add, expires }))
      .thenRefused('validation_failed');
  });

  it('is refused for an account that is not there', () => {
    given(...past(org))
      .when((read) => decideAddKey(read, add))
      .thenRefused('not_found');
  });

  it('is refused beyond 100 keys of the account, those of others not counted', () => {
    const keys = (count: number) => Array.from({ length: count }, (_, index) => key('robot', `key ${index}`));
    const others = Array.from({ length: 10 }, (_, index) => key('admin', `other ${index}`));
    expect(decideAddKey(stateAfter(past(() => robots, ...others, ...keys(99))), add)).toHaveLength(2);
    given(...past(() => robots, ...keys(100)))
      .when((read) => decideAddKey(read, add))
      .thenRefused('conflict');
  });
});

describe('a key', () => {
  const now = Date.parse(AT);
  const withKey = (expires?: string): Read =>
    stateAfter(
      past(
        () => robots,
        (read) =>
          decideAddKey(read, {
            ...occasion('add'),
            org: ORG,
            name: 'robot',
            description: '',
            keyHash: 'abc',
            ...(expires !== undefined && { expires }),
          }),
      ),
    );

  it('speaks for its account', () => {
    expect(principalOf(withKey(), 'abc', now)).toMatchObject({ org: ORG, link: ROBOT, name: 'robot', keyHash: 'abc' });
  });

  it('is worth something until the moment at which it expires', () => {
    const read = withKey(LATER);
    expect(principalOf(read, 'abc', Date.parse(LATER) - 1)).toBeDefined();
    expect(principalOf(read, 'abc', Date.parse(LATER))).toBeUndefined();
  });
});

describe('removing a key', () => {
  const remove = { ...occasion('remove'), org: ORG, name: 'robot', keyId: 'key first-0' };
  const keys = past(() => robots, key('robot', 'first'), key('robot', 'second'), key('admin', 'other'));

  it('revokes that key, and no other', () => {
    given(...keys)
      .when((read) => decideRemoveKey(read, remove).map(({ type, stream }) => ({ type, stream })) as ControlEvent[])
      .then(
        ...([
          { type: 'key-revoked', stream: 'key/first' },
          { type: 'authz-changed', stream: 'authz/acme' },
        ] as ControlEvent[]),
      );
  });

  it.each([
    ['a key that is not there', { keyId: 'another' }],
    ['a key of another account', { keyId: 'key other-0' }],
    ['an account that is not there', { name: 'nobody' }],
  ])('is refused for %s', (_what, more) => {
    given(...keys)
      .when((read) => decideRemoveKey(read, { ...remove, ...more }))
      .thenRefused('not_found');
  });
});
