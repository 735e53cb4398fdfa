import { LIMITS } from '../../src/contract/limits.js';
import type { ControlEvent, InvitationState, UserState } from '../../src/model/control-events.js';
import { decideAcceptInvitation, decideInviteUsers, decideRevokeInvitation } from '../../src/model/invitation.js';
import { decideDeleteGroup } from '../support/decisions.js';
import { AT, given } from './decider.js';
import { account, group, invited, ORG, occasion, org, past, stateAfter, user } from './past.js';

const EXPIRES = '2026-01-09T03:04:05.678Z';
const LAST_MOMENT = '2026-01-09T03:04:05.677Z';
const ANN = 'ann@example.com';
const LINK = '/org/acme/user/ann@example.com';

const begun = { version: 1, created: AT, lastModified: AT };

function toInvite(emails: readonly string[], toGroup?: string) {
  const addressed = emails.map((email) => ({ email, codeHash: `hash ${email}` }));
  return { ...occasion('invite'), org: ORG, invited: addressed, ...(toGroup !== undefined && { group: toGroup }) };
}

describe('inviting', () => {
  it('makes an invitation for seven days', () => {
    const data = { id: 'invite-0', org: ORG, email: ANN, codeHash: `hash ${ANN}`, expires: EXPIRES, ...begun };
    given(...past(org))
      .when((read) => decideInviteUsers(read, toInvite([ANN])))
      .then(
        {
          type: 'invitation-created',
          stream: 'invitation/acme/invite-0',
          auditId: 'invite-1',
          data,
          action: 'invite',
        },
        { type: 'authz-changed', stream: 'authz/acme' },
      );
  });

  it('keeps which group is meant, and not only its name', () => {
    const read = stateAfter(past(org, group('friends'), invited(ANN, 'friends')));
    expect(read(`invitation/acme/invite ${ANN}-0`)).toMatchObject({ group: 'friends', groupId: 'group friends-0' });
  });

  it('makes one record for all addresses, and leaves members out', () => {
    given(...past(org, ...user(ANN)))
      .when((read) => created(decideInviteUsers(read, toInvite(['bob@example.com', ANN, 'cem@example.com']))))
      .then(...(['bob@example.com', 'cem@example.com'] as unknown as ControlEvent[]));
  });

  it('does nothing where all are members', () => {
    given(...past(org, ...user(ANN)))
      .when((read) => decideInviteUsers(read, toInvite([ANN])))
      .then();
  });

  it('takes the place of an earlier invitation of the address, and of no other', () => {
    const earlier = past(org, invited(ANN), invited('bob@example.com'));
    const read = stateAfter([...earlier, ...decideInviteUsers(stateAfter(earlier), toInvite([ANN]))]);
    expect(read.all('invitation', ORG).map(({ id }) => id)).toEqual(['invite bob@example.com-0', 'invite-0']);
  });

  it('rests on the address, the group, and all other invitations', () => {
    given(...past(org, group('friends')))
      .when((read) => decideInviteUsers(read, toInvite([ANN], 'friends')))
      .thenRestsOn({
        'user/acme/ann@example.com': 0,
        'group/acme/friends': 1,
        'invitation/acme/invite-0': 0,
        'authz/acme': 2,
      });
  });

  it('is refused where there is no such group', () => {
    given(...past(org))
      .when((read) => decideInviteUsers(read, toInvite([ANN], 'nobody')))
      .thenRefused('validation_failed');
  });
});

/** The addresses of the invitations that were made. */
function created(events: readonly ControlEvent[]): ControlEvent[] {
  const emails = events.flatMap((event) => (event.type === 'invitation-created' ? [event.data.email] : []));
  return emails as unknown as ControlEvent[];
}

describe('accepting an invitation', () => {
  const accept = {
    ...occasion('accept'),
    org: ORG,
    invitation: `invite ${ANN}-0`,
    codeHash: `code of ${ANN}`,
    name: 'Ann A.',
    keyHash: 'her key',
  };
  const open = past(org, invited(ANN));
  const invitation = stateAfter(open)('invitation/acme/invite ann@example.com-0') as InvitationState;
  const ann: UserState = {
    id: 'accept-0',
    org: ORG,
    name: 'Ann A.',
    email: ANN,
    idp: 'invitation',
    description: 'Ann A.',
    tags: {},
    ...begun,
  };

  it('makes the user with a key, and uses the invitation up', () => {
    given(...open)
      .when((read) => decideAcceptInvitation(read, accept))
      .then(
        { type: 'user-created', stream: `user/acme/${ANN}`, auditId: 'accept-2', data: ann },
        {
          type: 'key-issued',
          stream: 'key/her key',
          auditId: 'accept-3',
          data: { id: 'accept-1', org: ORG, principal: LINK, description: 'first key', issued: AT },
        },
        {
          type: 'invitation-deleted',
          stream: `invitation/acme/invite ${ANN}-0`,
          auditId: 'accept-4',
          data: invitation,
          action: 'accept',
        },
        { type: 'authz-changed', stream: 'authz/acme' },
      );
  });

  it('joins the group', () => {
    const joining = past(org, group('friends'), invited(ANN, 'friends'));
    const read = stateAfter([...joining, ...decideAcceptInvitation(stateAfter(joining), accept)]);
    expect(read('group/acme/friends')).toMatchObject({ memberLinks: [LINK], version: 2 });
  });

  it('succeeds without the group where that is gone', () => {
    const left = past(org, group('friends'), invited(ANN, 'friends'), (read) =>
      decideDeleteGroup(read, { ...occasion('delete'), org: ORG, name: 'friends' }),
    );
    expect(types(decideAcceptInvitation(stateAfter(left), accept))).not.toContain('group-edited');
  });

  it('does not join another group that was made under the name since', () => {
    const renewed = past(
      org,
      group('friends'),
      invited(ANN, 'friends'),
      (read) => decideDeleteGroup(read, { ...occasion('delete'), org: ORG, name: 'friends' }),
      (read) => group('friends')(read).map((event) => withId(event, 'another')),
    );
    expect(types(decideAcceptInvitation(stateAfter(renewed), accept))).not.toContain('group-edited');
  });

  it('succeeds without the group where that is full', () => {
    const names = Array.from({ length: LIMITS.members }, (_, index) => `robot-${index}`);
    const full = past(
      org,
      ...names.map((name) => account(name)),
      group(
        'friends',
        names.map((name) => `/org/acme/serviceaccount/${name}`),
      ),
      invited(ANN, 'friends'),
    );
    expect(types(decideAcceptInvitation(stateAfter(full), accept))).not.toContain('group-edited');
  });

  it('works up to the last moment', () => {
    expect(decideAcceptInvitation(stateAfter(open), { ...accept, at: LAST_MOMENT })).not.toEqual([]);
  });

  it('is refused from the moment at which it expires', () => {
    given(...open)
      .when((read) => decideAcceptInvitation(read, { ...accept, at: EXPIRES }))
      .thenRefused('conflict');
  });

  it.each([
    ['a wrong code', { codeHash: 'another' }],
    ['an unknown invitation', { invitation: 'another' }],
    ['another organization', { org: 'globex' }],
    ['a wrong code, also when it has expired', { codeHash: 'another', at: EXPIRES }],
  ])('is refused alike with %s', (_what, wrong) => {
    given(...open)
      .when((read) => decideAcceptInvitation(read, { ...accept, ...wrong }))
      .thenRefused('not_found');
  });

  it('is refused the second time', () => {
    given(...open, ...decideAcceptInvitation(stateAfter(open), accept))
      .when((read) => decideAcceptInvitation(read, { ...accept, ...occasion('again') }))
      .thenRefused('not_found');
  });

  it('rests on the invitation, the address, the group and all other invitations', () => {
    given(...past(org, group('friends'), invited(ANN, 'friends')))
      .when((read) => decideAcceptInvitation(read, accept))
      .thenRestsOn({
        [`invitation/acme/invite ${ANN}-0`]: 1,
        [`user/acme/${ANN}`]: 0,
        'key/her key': 0,
        'group/acme/friends': 1,
        'authz/acme': 3,
      });
  });
});

describe('revoking an invitation', () => {
  const revoke = { ...occasion('revoke'), org: ORG, invitation: `invite ${ANN}-0` };

  it('deletes it', () => {
    const open = past(org, invited(ANN));
    const data = stateAfter(open)(`invitation/acme/invite ${ANN}-0`) as InvitationState;
    given(...open)
      .when((read) => decideRevokeInvitation(read, revoke))
      .then({
        type: 'invitation-deleted',
        stream: `invitation/acme/invite ${ANN}-0`,
        auditId: 'revoke-0',
        data,
        action: 'revoke',
      });
  });

  it('is refused for one that is not there', () => {
    given(...past(org))
      .when((read) => decideRevokeInvitation(read, revoke))
      .thenRefused('not_found');
  });

  it('is refused at another version than the expected one', () => {
    given(...past(org, invited(ANN)))
      .when((read) => decideRevokeInvitation(read, { ...revoke, expected: 2 }))
      .thenRefused('precondition_failed');
  });
});

function types(events: readonly ControlEvent[]): string[] {
  return events.map(({ type }) => type);
}

function withId(event: ControlEvent, id: string): ControlEvent {
  return event.type === 'group-created' ? { ...event, data: { ...event.data, id } } : event;
}
