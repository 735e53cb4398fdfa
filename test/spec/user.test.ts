import type { ControlEvent, GroupState, UserState } from '../../src/model/control-events.js';
import { decideDeleteUser, decideEditGroup, decideEditUser, type EditUser } from '../support/decisions.js';
import { given } from './decider.js';
import { account, group, key, ORG, occasion, org, past, policy, stateAfter, user } from './past.js';

const LATER = '2026-02-03T04:05:06.789Z';
const ANN = '/org/acme/user/ann@example.com';
const BOB = '/org/acme/user/bob@example.com';

const members = past(org, ...user('ann@example.com'), ...user('bob@example.com'));
const ann = stateAfter(members)('user/acme/ann@example.com') as UserState;

function edit(revise: EditUser['revise'], more: Partial<EditUser> = {}) {
  return { ...occasion('edit', LATER), org: ORG, ref: 'ann@example.com', revise, ...more };
}

const describedAs = (description: string) => edit((document) => ({ ...document, description }));

describe('editing a user', () => {
  const edited: readonly ControlEvent[] = [
    {
      type: 'user-edited',
      stream: 'user/acme/ann@example.com',
      auditId: 'edit-0',
      data: { ...ann, description: 'The first', version: 2, lastModified: LATER },
    },
    { type: 'authz-changed', stream: 'authz/acme' },
  ];

  it('keeps the rest, and counts the version', () => {
    given(...members)
      .when((read) => decideEditUser(read, describedAs('The first')))
      .then(...edited);
  });

  it.each(['ANN@example.com', 'user ann@example.com-0'])('knows the user as %s', (ref) => {
    given(...members)
      .when((read) => decideEditUser(read, { ...describedAs('The first'), ref }))
      .then(...edited);
  });

  it('rests on the user and on what anyone may do', () => {
    given(...members)
      .when((read) => decideEditUser(read, describedAs('The first')))
      .thenRestsOn({ 'user/acme/ann@example.com': 1, 'authz/acme': 5 });
  });

  it('does nothing where the user is as it should be', () => {
    given(...members)
      .when((read) =>
        decideEditUser(
          read,
          edit((document) => ({ ...document })),
        ),
      )
      .then();
  });

  it('is refused for a user who is not there', () => {
    given(...members)
      .when((read) => decideEditUser(read, { ...describedAs('x'), ref: 'nobody@example.com' }))
      .thenRefused('not_found');
  });

  it('is refused for a user of another organization', () => {
    given(...members)
      .when((read) => decideEditUser(read, { ...describedAs('x'), org: 'globex' }))
      .thenRefused('not_found');
  });

  it('is refused at another version than the expected one', () => {
    given(...members)
      .when((read) => decideEditUser(read, { ...describedAs('x'), expected: 2 }))
      .thenRefused('precondition_failed');
  });

  it.each([{ email: 'other@example.com' }, { idp: 'google' }, { id: 'x' }, { created: LATER }])(
    'is refused where the body says %j',
    (identity) => {
      given(...members)
        .when((read) => decideEditUser(read, { ...describedAs('x'), identity }))
        .thenRefused('validation_failed');
    },
  );

  it('is refused where it touches a tag of the service', () => {
    given(...members)
      .when((read) =>
        decideEditUser(
          read,
          edit((document) => ({ ...document, tags: { 'svc/x': '1' } })),
        ),
      )
      .thenRefused('builtin_tag');
  });
});

describe('deleting a user', () => {
  const remove = { ...occasion('delete', LATER), org: ORG, ref: 'ann@example.com' };
  const links = past(
    () => members,
    group('both', [ANN, BOB]),
    group('bobs', [BOB]),
    policy('direct', [ANN, BOB], [ANN, BOB]),
    policy('hers', [ANN], [BOB]),
    policy('his', [BOB], [BOB]),
  );

  it('takes its memberships, policy bindings and keys along in one record, and nobody else’s', () => {
    given(...links)
      .when((read) => decideDeleteUser(read, remove).map(({ type, stream }) => ({ type, stream })) as ControlEvent[])
      .then(
        ...([
          { type: 'user-deleted', stream: 'user/acme/ann@example.com' },
          { type: 'group-edited', stream: 'group/acme/both' },
          { type: 'policy-edited', stream: 'policy/acme/direct' },
          { type: 'policy-edited', stream: 'policy/acme/hers' },
          { type: 'key-revoked', stream: 'key/hash of ann@example.com' },
          { type: 'authz-changed', stream: 'authz/acme' },
        ] as ControlEvent[]),
      );
  });

  it('leaves no link to it anywhere', () => {
    const read = stateAfter([...links, ...decideDeleteUser(stateAfter(links), remove)]);
    expect(read('user/acme/ann@example.com')).toBeUndefined();
    expect(read('group/acme/both')?.memberLinks).toEqual([BOB]);
    expect(read('policy/acme/direct')).toMatchObject({ bindings: [{ principalLinks: [BOB] }], targetLinks: [BOB] });
    expect(read('policy/acme/hers')).toMatchObject({ bindings: [], targetLinks: [BOB] });
    expect(read.keysOf(ANN)).toEqual([]);
    expect(read.keysOf(BOB)).toHaveLength(1);
  });

  it('gives every event an audit event of its own, a removed membership as such', () => {
    const events = decideDeleteUser(stateAfter(links), remove).flatMap((event) => ('auditId' in event ? [event] : []));
    expect(new Set(events.map(({ auditId }) => auditId)).size).toBe(events.length);
    expect(events.find(({ type }) => type === 'group-edited')).toMatchObject({ action: 'remove-member' });
  });

  it('is refused at another version than the expected one', () => {
    given(...members)
      .when((read) => decideDeleteUser(read, { ...remove, expected: 7 }))
      .thenRefused('precondition_failed');
  });

  it('is refused for a user who is not there', () => {
    given(...past(org))
      .when((read) => decideDeleteUser(read, remove))
      .thenRefused('not_found');
  });

  it('is refused for the last superuser', () => {
    given(...soleSuperuser())
      .when((read) => decideDeleteUser(read, remove))
      .thenRefused('builtin_resource');
  });

  it('is allowed for a superuser who is not the last', () => {
    const superusers = past(() => members, key('admin', 'another'), addedToSuperusers(ANN));
    const read = stateAfter([...superusers, ...decideDeleteUser(stateAfter(superusers), remove)]);
    expect((read('group/acme/superusers') as GroupState).memberLinks).toEqual(['/org/acme/serviceaccount/admin']);
  });
});

function addedToSuperusers(link: string) {
  return (read: ReturnType<typeof stateAfter>) =>
    decideEditGroup(read, {
      ...occasion('add superuser'),
      org: ORG,
      name: 'superusers',
      revise: (document) => ({ ...document, memberLinks: [...document.memberLinks, link] }),
    });
}

function soleSuperuser(): ControlEvent[] {
  return past(
    () => members,
    account('other'),
    (read) =>
      decideEditGroup(read, {
        ...occasion('replace superuser'),
        org: ORG,
        name: 'superusers',
        revise: (document) => ({ ...document, memberLinks: [ANN] }),
      }),
  );
}
