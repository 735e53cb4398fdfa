import { emptyFold, foldRecord, readFold } from '../../src/control/fold.js';
import type { ControlEvent, Read } from '../../src/model/control-events.js';
import { decideAcceptInvitation, decideInviteUsers } from '../../src/model/invitation.js';
import { decideAddKey } from '../../src/model/key.js';
import { decideCreateOrg } from '../../src/model/org.js';
import type { Occasion } from '../../src/model/resource.js';
import { decideCreateGroup, decideCreatePolicy, decideCreateServiceAccount } from '../support/decisions.js';
import { AT, recordOf } from './decider.js';

export type Decision = (read: Read) => readonly ControlEvent[];

/** What happened when these were decided one after the other. */
export function past(...decisions: readonly Decision[]): ControlEvent[] {
  const fold = emptyFold();
  return decisions.flatMap((decide, index) => {
    const events = decide(readFold(fold));
    foldRecord(fold, recordOf(`past ${index}`, events, {}), { offset: index, time: 0 });
    return events;
  });
}

/** The state after these events. */
export function stateAfter(events: readonly ControlEvent[]): Read {
  const fold = emptyFold();
  foldRecord(fold, recordOf('past', events, {}), { offset: 0, time: 0 });
  return readFold(fold);
}

export const ORG = 'acme';

/** The moment of a command, with identifiers of its own: `name-0`, `name-1`, ... */
export function occasion(name: string, at = AT, granter: string | null = null): Occasion {
  return { at, id: (n) => `${name}-${n}`, granter };
}

/** With the account `admin` as the only superuser. */
export const org: Decision = (read) =>
  decideCreateOrg(read, { ...occasion('org'), name: ORG, description: ORG, tags: {}, keyHash: 'hash of admin' });

/** The invitation has the id `invite EMAIL-0` and the code hash `code of EMAIL`. */
export function invited(email: string, group?: string): Decision {
  const command = {
    org: ORG,
    invited: [{ email, codeHash: `code of ${email}` }],
    ...(group !== undefined && { group }),
  };
  return (read) => decideInviteUsers(read, { ...occasion(`invite ${email}`), ...command });
}

/** A user with the id `user EMAIL-0` and the key hash `hash of EMAIL`. */
export function user(email: string, group?: string): Decision[] {
  const command = { org: ORG, invitation: `invite ${email}-0`, codeHash: `code of ${email}`, name: `Name of ${email}` };
  const accepted: Decision = (read) =>
    decideAcceptInvitation(read, { ...occasion(`user ${email}`), ...command, keyHash: `hash of ${email}` });
  return [invited(email, group), accepted];
}

export function account(name: string): Decision {
  const document = { description: name, tags: {} };
  return (read) => decideCreateServiceAccount(read, { ...occasion(`account ${name}`), org: ORG, name, document });
}

/** A key with the id `key HASH-0`. */
export function key(name: string, keyHash: string): Decision {
  const holder = { org: ORG, kind: 'serviceaccount', ref: name } as const;
  return (read) => decideAddKey(read, { ...occasion(`key ${keyHash}`), holder, description: keyHash, keyHash });
}

export function group(name: string, memberLinks: readonly string[] = []): Decision {
  const document = { description: name, tags: {}, memberLinks };
  return (read) => decideCreateGroup(read, { ...occasion(`group ${name}`), org: ORG, name, document });
}

/** These principals may view these users. */
export function policy(name: string, principalLinks: readonly string[], targetLinks: readonly string[]): Decision {
  const bindings = [{ permissions: ['view'], principalLinks }];
  const document = { description: name, tags: {}, targetKind: 'user', targetLinks, bindings } as const;
  return (read) => decideCreatePolicy(read, { ...occasion(`policy ${name}`), org: ORG, name, document });
}
