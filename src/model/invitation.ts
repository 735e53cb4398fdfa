import { linkTo, parseLink } from '../contract/links.js';
import { authzChanged } from './authz.js';
import { checkPrecondition, type Precondition } from './change.js';
import type { ControlEvent, GroupState, InvitationEvent, InvitationState, Read, UserState } from './control-events.js';
import type { Given } from './given.js';
import { missingFor, NOBODY, refusalOf } from './grants.js';
import { groupLink, joined } from './group.js';
import { keyIssued } from './key.js';
import { endAfter } from './key-life.js';
import { ControlRefusal } from './refusal.js';
import { auditIds, begun, type Occasion } from './resource.js';
import { groupStream, invitationStream, serviceAccountStream, userStream } from './streams.js';
import { INVITED_IDP, userLink } from './user.js';

const INVITATION_DAYS = 7;

const DAY_MS = 24 * 60 * 60 * 1000;

export function invitationLink(org: string, id: string): string {
  return linkTo(org, 'invitation', id);
}

export interface InviteUsers extends Occasion {
  readonly org: string;
  /** Addresses in lower case, each once, and the SHA-256 of the code that each is sent, in hex. */
  readonly invited: readonly { readonly email: string; readonly codeHash: string }[];
  /** Name of the group to join. */
  readonly group?: string;
}

/**
 * An invitation for each address, but none for a member's. It takes the place of an earlier one: of the codes that were
 * sent to an address only the last counts.
 */
export function decideInviteUsers(read: Read, command: InviteUsers): ControlEvent[] {
  const { org, invited, at, granter } = command;
  const group = command.group === undefined ? undefined : joinableGroup(read, org, command.group);
  const sender = granter !== null && senderOf(read, granter);
  const nextId = auditIds(command);
  const events = invited.flatMap(({ email, codeHash }): ControlEvent[] => {
    if (read(userStream(org, email))) return [];
    const data: InvitationState = {
      ...begun(nextId(), at),
      org,
      email,
      ...(group && { group: group.name, groupId: group.id }),
      ...sender,
      codeHash,
      expires: new Date(Date.parse(at) + INVITATION_DAYS * DAY_MS).toISOString(),
    };
    const stream = invitationStream(org, data.id);
    return [
      ...invitationsTo(read, org, email).map((earlier) => withdrawn(earlier, nextId(), 'revoke')),
      { type: 'invitation-created', stream, auditId: nextId(), data, action: 'invite' },
    ];
  });
  if (events.length === 0) return [];
  if (granter !== null) refuseInviting(read, command, granter, group);
  // Which invitations an address has is read from all of the organization.
  return [...events, authzChanged(org)];
}

function senderOf(read: Read, inviter: string): Pick<InvitationState, 'inviter' | 'inviterId'> {
  const inviterId = idAt(read, inviter);
  return { inviter, ...(inviterId !== undefined && { inviterId }) };
}

/** The id of the user or service account that is there under the link. */
function idAt(read: Read, link: string): string | undefined {
  const { org = '', kind, ref = '' } = parseLink(link) ?? {};
  if (kind === 'serviceaccount') return read(serviceAccountStream(org, ref))?.id;
  return kind === 'user' ? read(userStream(org, ref))?.id : undefined;
}

/** Refuses what the acceptances would be refused, as far as it is known before the users choose their names. */
function refuseInviting(read: Read, command: InviteUsers, granter: string, group: GroupState | undefined): void {
  const { org, invited, at, id } = command;
  const emails = invited.map(({ email }) => email).filter((email) => !read(userStream(org, email)));
  const accepted = emails.map((email): ControlEvent => {
    const data = newUser(org, email, email, begun(id(0), at));
    return { type: 'user-created', stream: userStream(org, email), auditId: data.id, data };
  });
  const links = emails.map((email) => userLink(org, email));
  const joint = group ? withMembers(group, links, id(0)) : [];
  const missing = missingFor(read, org, granter, [...accepted, ...joint], neededToInvite(org, group));
  if (missing) throw refusalOf(read, org, granter, missing, 'which the invitation needs');
}

function withMembers(group: GroupState, links: readonly string[], auditId: string): readonly ControlEvent[] {
  const data = { ...group, memberLinks: [...group.memberLinks, ...links] };
  return [{ type: 'group-edited', stream: groupStream(group.org, group.name), auditId, data }];
}

/** What the inviter must be allowed to do, besides having what the group gives. */
function neededToInvite(org: string, group: GroupState | undefined): readonly Given[] {
  const invite: Given = { kind: 'user', permissions: ['invite'], targets: 'all' };
  return group ? [invite, { kind: 'group', permissions: ['edit'], targets: [groupLink(org, group.name)] }] : [invite];
}

function joinableGroup(read: Read, org: string, name: string): GroupState {
  const group = read(groupStream(org, name));
  if (group) return group;
  const reason = 'must be the name of a group of this organization that exists';
  throw new ControlRefusal('validation_failed', 'there is no such group', [{ pointer: '/group', reason }]);
}

function invitationsTo(read: Read, org: string, email: string): readonly InvitationState[] {
  return read.all('invitation', org).filter((invitation) => invitation.email === email);
}

function withdrawn(data: InvitationState, auditId: string, action: 'accept' | 'revoke'): InvitationEvent {
  return { type: 'invitation-deleted', stream: invitationStream(data.org, data.id), auditId, data, action };
}

/** What it gives is given by the inviter. */
export interface AcceptInvitation extends Omit<Occasion, 'granter'> {
  readonly org: string;
  readonly invitation: string;
  readonly codeHash: string;
  /** The full name. */
  readonly name: string;
  /** SHA-256 of the user's first key, in hex. */
  readonly keyHash: string;
  /** The longest life of a key; absent: no limit. */
  readonly mostDays?: number;
}

/**
 * Makes the user with a first key, and a member of the group if that still exists and takes one more: one record. An
 * unknown invitation and a wrong code are refused with the same error, before any other check.
 */
export function decideAcceptInvitation(read: Read, command: AcceptInvitation): ControlEvent[] {
  const { org, invitation: invitationId, codeHash, name, keyHash, mostDays, at, id } = command;
  const invitation = read(invitationStream(org, invitationId));
  if (invitation?.codeHash !== codeHash) throw new ControlRefusal('not_found', 'no such invitation exists');
  if (Date.parse(invitation.expires) <= Date.parse(at)) {
    throw new ControlRefusal('conflict', 'the invitation has expired; ask for another');
  }
  const { email } = invitation;
  if (read(userStream(org, email))) throw new ControlRefusal('already_exists', 'the user is a member already');
  const user = newUser(org, email, name, begun(id(0), at));
  const link = userLink(org, email);
  const nextId = auditIds(command, 2);
  const ends = mostDays === undefined ? {} : { expires: endAfter(at, mostDays) };
  const key = { id: id(1), org, principal: link, description: 'first key', issued: at, ...ends };
  const group = groupOf(read, invitation);
  const events: ControlEvent[] = [
    { type: 'user-created', stream: userStream(org, email), auditId: nextId(), data: user },
    keyIssued(keyHash, key, nextId()),
    ...invitationsTo(read, org, email).map((each) =>
      withdrawn(each, nextId(), each.id === invitationId ? 'accept' : 'revoke'),
    ),
    ...joined(group, link, at, nextId),
    authzChanged(org),
  ];
  refuseAcceptance(read, invitation, group, events);
  return events;
}

function newUser(
  org: string,
  email: string,
  name: string,
  resource: Pick<UserState, 'id' | 'version' | 'created' | 'lastModified'>,
): UserState {
  return { ...resource, org, name, email, idp: INVITED_IDP, description: name, tags: {} };
}

/** The inviter must still be allowed to invite, and to give what joining gives. The user learns only whom to ask. */
function refuseAcceptance(
  read: Read,
  { org, inviter, inviterId }: InvitationState,
  group: GroupState | undefined,
  events: readonly ControlEvent[],
): void {
  if (inviter === undefined || inviterId === undefined) {
    if (missingFor(read, org, NOBODY, events)) throw fromBeforeUpgrade(org);
    return;
  }
  const isSame = idAt(read, inviter) === inviterId;
  if (isSame && !missingFor(read, org, inviter, events, neededToInvite(org, group))) return;
  throw new ControlRefusal(
    'forbidden',
    'who sent the invitation may not give any more what it promises, or what joining would give; ' +
      `ask an administrator of ${org} for another invitation`,
  );
}

function fromBeforeUpgrade(org: string): ControlRefusal {
  return new ControlRefusal(
    'forbidden',
    'the invitation was sent before an upgrade of the service and does not say who sent it, so it cannot give ' +
      `what joining would give; ask an administrator of ${org} to send it again`,
  );
}

function groupOf(read: Read, { org, group, groupId }: InvitationState): GroupState | undefined {
  const found = group === undefined ? undefined : read(groupStream(org, group));
  return found?.id === groupId ? found : undefined;
}

export interface RevokeInvitation extends Occasion {
  readonly org: string;
  readonly invitation: string;
  readonly expected?: Precondition;
}

export function decideRevokeInvitation(read: Read, command: RevokeInvitation): ControlEvent[] {
  const { org, invitation: invitationId, expected, id } = command;
  const invitation = read(invitationStream(org, invitationId));
  if (!invitation) throw new ControlRefusal('not_found', 'no such invitation exists in this organization');
  checkPrecondition(expected, invitation.version);
  return [withdrawn(invitation, id(0), 'revoke')];
}
