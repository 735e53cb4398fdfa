import { withMember } from '../../src/model/group.js';
import { decideRecoverOrg } from '../../src/model/org-recover.js';
import { groupStream } from '../../src/model/streams.js';
import { decideDeleteServiceAccount, decideEditGroup } from '../support/decisions.js';
import { AT, given } from './decider.js';
import { account, type Decision, key as keyOf, ORG, occasion, org, past, stateAfter, user } from './past.js';

const ADMIN = '/org/acme/serviceaccount/admin';
const LATER = '2026-02-03T04:05:06.789Z';
const command = { ...occasion('recover', LATER), org: ORG, keyHash: 'ef56' };

const key = {
  id: 'recover-0',
  org: ORG,
  principal: ADMIN,
  description: 'recovery key',
  issued: LATER,
};

/** Everybody else is a superuser, and the account is gone. */
const decisions: readonly Decision[] = [
  org,
  ...user('ann@acme.example'),
  (read) =>
    decideEditGroup(read, {
      ...occasion('swap'),
      org: ORG,
      name: 'superusers',
      revise: (document) => ({ ...document, memberLinks: ['/org/acme/user/ann@acme.example'] }),
    }),
  (read) => decideDeleteServiceAccount(read, { ...occasion('gone'), org: ORG, name: 'admin' }),
];
const abandoned = past(...decisions);

describe('recovering an organization', () => {
  it('issues a key of the account admin, and changes nothing else where that is a superuser', () => {
    given(...past(org))
      .when((read) => decideRecoverOrg(read, command))
      .then(
        { type: 'key-issued', stream: 'key/ef56', auditId: 'recover-2', data: key },
        { type: 'authz-changed', stream: 'authz/acme' },
      );
  });

  it('makes the account again where it was deleted, and a superuser again', () => {
    const events = decideRecoverOrg(stateAfter(abandoned), command);
    const read = stateAfter([...abandoned, ...events]);
    expect(read('serviceaccount/acme/admin')).toMatchObject({ id: 'recover-1', origin: 'builtin', version: 1 });
    expect(read(groupStream(ORG, 'superusers'))?.memberLinks).toEqual(['/org/acme/user/ann@acme.example', ADMIN]);
    expect(events.map(({ type }) => type)).toEqual([
      'serviceaccount-created',
      'key-issued',
      'group-edited',
      'authz-changed',
    ]);
  });

  it('revokes the keys of an account that was no superuser, and so would become one', () => {
    const remade = past(...decisions, account('admin'), keyOf('admin', 'mine'));
    const read = stateAfter([...remade, ...decideRecoverOrg(stateAfter(remade), command)]);
    expect(read.keysOf(ADMIN).map(({ stream }) => stream)).toEqual(['key/ef56']);
    expect(read(groupStream(ORG, 'superusers'))?.memberLinks).toContain(ADMIN);
  });

  it('does so also where the group of superusers has as many members as it may have', () => {
    const others = Array.from({ length: 199 }, (_, n) => `/org/acme/user/u${n}@acme.example`);
    const filled = past(
      ...decisions,
      ...others.map(
        (link, n): Decision =>
          (read) => {
            return withMember(read(groupStream(ORG, 'superusers')), link, AT, () => `filled-${n}`);
          },
      ),
    );
    const events = decideRecoverOrg(stateAfter(filled), command);
    expect(stateAfter([...filled, ...events])(groupStream(ORG, 'superusers'))?.memberLinks).toHaveLength(201);
  });

  it('rests on the account, the group and the key', () => {
    given(...abandoned)
      .when((read) => decideRecoverOrg(read, command))
      .thenRestsOn(
        expect.objectContaining({
          'serviceaccount/acme/admin': expect.any(Number),
          'group/acme/superusers': expect.any(Number),
          'key/ef56': 0,
        }) as never,
      );
  });

  it('is refused where no such organization exists', () => {
    given()
      .when((read) => decideRecoverOrg(read, command))
      .thenRefused('not_found');
  });
});
