import { linkTo } from '../contract/links.js';
import { authzChanged } from './authz.js';
import type { ControlEvent, Read, ServiceAccountState } from './control-events.js';
import { withMember } from './group.js';
import { keyIssued, keysRevoked } from './key.js';
import { ADMIN } from './org.js';
import { ControlRefusal } from './refusal.js';
import { auditIds, begun, type Occasion } from './resource.js';
import { groupStream, orgStream, serviceAccountStream } from './streams.js';
import { SUPERUSERS } from './superusers.js';

export interface RecoverOrg extends Occasion {
  readonly org: string;
  /** SHA-256 of the new key, in hex. */
  readonly keyHash: string;
}

/**
 * A new key for the service account `admin` of an organization that has lost its last one. The account is made again
 * where it was deleted, and is a superuser again where it was none, even when the group has as many members as it may
 * have: an organization that nobody can enter must not stay so. The keys of an account that was no superuser are revoked:
 * the person who issued them did not have the rights that the account gets here.
 */
export function decideRecoverOrg(read: Read, command: RecoverOrg): ControlEvent[] {
  const { org, keyHash, at, id } = command;
  if (!read(orgStream(org))) throw new ControlRefusal('not_found', `there is no organization named ${org}`);
  const principal = linkTo(org, 'serviceaccount', ADMIN);
  const nextId = auditIds(command, 2);
  const superusers = read(groupStream(org, SUPERUSERS));
  const isSuperuser = superusers?.memberLinks.includes(principal) ?? false;
  const key = { id: id(0), org, principal, description: 'recovery key', issued: at };
  return [
    ...adminAgain(read, org, { ...begun(id(1), at), org, ...ACCOUNT }, nextId),
    keyIssued(keyHash, key, nextId()),
    ...(isSuperuser ? [] : keysRevoked(read, principal, nextId)),
    ...withMember(superusers, principal, at, nextId),
    authzChanged(org),
  ];
}

const ACCOUNT = { name: ADMIN, description: ADMIN, tags: {}, origin: 'builtin' } as const;

function adminAgain(read: Read, org: string, data: ServiceAccountState, nextId: () => string): ControlEvent[] {
  const stream = serviceAccountStream(org, ADMIN);
  return read(stream) ? [] : [{ type: 'serviceaccount-created', stream, auditId: nextId(), data }];
}
