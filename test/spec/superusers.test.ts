import { decideAddKey, decideRemoveKey } from '../../src/model/key.js';
import { decideDeleteServiceAccount, decideDeleteUser, decideEditGroup } from '../support/decisions.js';
import { AT, given } from './decider.js';
import { account, type Decision, key, ORG, occasion, org, past, user } from './past.js';

const ADMIN = '/org/acme/serviceaccount/admin';
const ANN = '/org/acme/user/ann@example.com';
const ROBOT = '/org/acme/serviceaccount/robot';
const LATER = '2026-02-03T04:05:06.789Z';

function superusers(...memberLinks: string[]): Decision {
  return (read) =>
    decideEditGroup(read, {
      ...occasion('superusers'),
      org: ORG,
      name: 'superusers',
      revise: (document) => ({ ...document, memberLinks }),
    });
}

function keyUntil(ref: string, expires: string): Decision {
  const holder = { org: ORG, kind: 'serviceaccount', ref } as const;
  return (read) => decideAddKey(read, { ...occasion('ends'), holder, description: '', keyHash: 'ends', expires });
}

const removeFirst: Decision = (read) => {
  const keyId = read.keysOf(ADMIN)[0]?.state.id ?? 'none';
  const holder = { org: ORG, kind: 'serviceaccount', ref: 'admin' } as const;
  return decideRemoveKey(read, { ...occasion('remove', LATER), holder, keyId });
};
const removeAnns: Decision = (read) => {
  const keyId = read.keysOf(ANN)[0]?.state.id ?? 'none';
  const holder = { org: ORG, kind: 'user', ref: 'ann@example.com' } as const;
  return decideRemoveKey(read, { ...occasion('remove', LATER), holder, keyId });
};
const deleteAdmin: Decision = (read) =>
  decideDeleteServiceAccount(read, { ...occasion('delete', LATER), org: ORG, name: 'admin' });
const deleteAnn: Decision = (read) =>
  decideDeleteUser(read, { ...occasion('delete', LATER), org: ORG, ref: 'ann@example.com' });
const removeAdmin: Decision = (read) =>
  decideEditGroup(read, {
    ...occasion('edit', LATER),
    org: ORG,
    name: 'superusers',
    revise: (document) => ({ ...document, memberLinks: document.memberLinks.filter((link) => link !== ADMIN) }),
  });

const ann = user('ann@example.com');

describe('the last live key of the superusers', () => {
  it.each<[string, Decision[], Decision]>([
    ['when the only superuser has one key', [], removeFirst],
    ['when other accounts have keys and are no superusers', [account('robot'), key('robot', 'a'), ...ann], removeFirst],
    ['when the other superusers have no keys', [account('robot'), superusers(ADMIN, ROBOT)], removeFirst],
    [
      'when the keys of the other superusers have expired',
      [account('robot'), superusers(ADMIN, ROBOT), keyUntil('robot', '2026-01-31T00:00:00.000Z')],
      removeFirst,
    ],
    ['when it is a user’s', [...ann, superusers(ADMIN, ANN), superusers(ANN)], removeAnns],
    ['by deleting its account', [account('robot'), superusers(ADMIN, ROBOT)], deleteAdmin],
    ['by deleting its user', [...ann, account('robot'), superusers(ADMIN, ANN), superusers(ANN, ROBOT)], deleteAnn],
    ['by taking its holder out of the group', [account('robot'), superusers(ADMIN, ROBOT)], removeAdmin],
  ])('cannot be taken away %s', (_when, before, decide) => {
    given(...past(org, ...before))
      .when((read) => [...decide(read)])
      .thenRefused('builtin_resource');
  });

  it.each<[string, Decision[], Decision]>([
    ['the account has another', [key('admin', 'another')], removeFirst],
    ['another superuser has one', [...ann, superusers(ADMIN, ANN)], removeFirst],
    [
      'another superuser has one that is still live',
      [account('robot'), superusers(ADMIN, ROBOT), keyUntil('robot', '2026-03-01T00:00:00.000Z')],
      removeFirst,
    ],
    ['the account is deleted and another superuser has one', [...ann, superusers(ADMIN, ANN)], deleteAdmin],
    ['the holder leaves the group and another member has one', [...ann, superusers(ADMIN, ANN)], removeAdmin],
    ['the key is of no superuser', ann, removeAnns],
    ['the user is no superuser', ann, deleteAnn],
  ])('is not meant when %s', (_when, before, decide) => {
    const read = given(...past(org, ...before));
    read.when((state) => decide(state).slice(0, 0)).then();
  });

  it('is none where all have expired: then a key more or less changes nothing', () => {
    const expired = past(
      org,
      account('robot'),
      keyUntil('robot', '2026-01-31T00:00:00.000Z'),
      key('robot', 'second'),
      superusers(ADMIN, ROBOT),
    ).filter((event) => event.type !== 'key-issued' || event.stream === 'key/ends');
    given(...expired)
      .when((read) => {
        const holder = { org: ORG, kind: 'serviceaccount', ref: 'robot' } as const;
        return decideRemoveKey(read, { ...occasion('remove', LATER), holder, keyId: 'ends-0' });
      })
      .then(
        {
          type: 'key-revoked',
          stream: 'key/ends',
          auditId: 'remove-0',
          data: {
            ...{ id: 'ends-0', org: ORG, principal: ROBOT, description: '', issued: AT },
            expires: '2026-01-31T00:00:00.000Z',
          },
        },
        { type: 'authz-changed', stream: 'authz/acme' },
      );
  });

  it('makes a removal rest on what anyone may do, so that two removals at once are not both applied', () => {
    given(...past(org, key('admin', 'another')))
      .when((read) => [...removeFirst(read)])
      .thenRestsOn({
        'serviceaccount/acme/admin': 1,
        'group/acme/superusers': 1,
        'key/hash of admin': 1,
        'authz/acme': 2,
      });
  });
});
