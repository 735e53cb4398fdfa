import { linkTo } from '../contract/links.js';
import { authzChanged } from './authz.js';
import type {
  ControlEvent,
  GroupState,
  KeyState,
  OrgEvent,
  OrgState,
  PolicyState,
  Read,
  ServiceAccountState,
  StreamName,
} from './control-events.js';
import { groupLink, VIEWERS } from './group.js';
import { keyIssued } from './key.js';
import { ControlRefusal } from './refusal.js';
import { auditIds, begun, type Occasion, refuseBuiltinTags } from './resource.js';
import { groupStream, orgStream, policyStream, serviceAccountStream } from './streams.js';
import { SUPERUSERS } from './superusers.js';

export function evolveOrg(_state: OrgState | undefined, event: OrgEvent): OrgState {
  return event.data;
}

/** The first account of every organization; its first key is the way in. */
export const ADMIN = 'admin';

export interface CreateOrg extends Occasion {
  readonly name: string;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  /** SHA-256 of the admin's first key, in hex. */
  readonly keyHash: string;
}

/**
 * Makes the organization, its built-in groups and policies, its service account `admin` and that account's first key: one
 * record, all or nothing.
 */
export function decideCreateOrg(read: Read, command: CreateOrg): ControlEvent[] {
  const { name, description, tags, at, keyHash, id } = command;
  refuseBuiltinTags(tags);
  if (read(orgStream(name))) throw new ControlRefusal('already_exists', `an organization named ${name} exists`);
  const admin = linkTo(name, 'serviceaccount', ADMIN);
  const account: ServiceAccountState = {
    ...begun(id(1), at),
    org: name,
    name: ADMIN,
    description: ADMIN,
    tags: {},
    origin: 'builtin',
  };
  const key: KeyState = { id: id(2), org: name, principal: admin, description: 'first key', issued: at };
  const nextId = auditIds(command, 3);
  return [
    {
      type: 'org-created',
      stream: orgStream(name),
      auditId: nextId(),
      data: { ...begun(id(0), at), name, description, tags },
    },
    {
      type: 'serviceaccount-created',
      stream: serviceAccountStream(name, ADMIN),
      auditId: nextId(),
      data: account,
    },
    keyIssued(keyHash, key, nextId()),
    ...builtins(name, [admin], at, nextId),
    authzChanged(name),
  ];
}

/** What every organization has from the beginning: who may do everything, and who may see everything. */
export function builtins(org: string, superusers: readonly string[], at: string, nextId: () => string): ControlEvent[] {
  return [
    ...builtin(org, SUPERUSERS, 'May do everything', superusers, ['manage'], at, nextId),
    ...builtin(org, VIEWERS, 'May see everything', [], ['view', 'readAudit'], at, nextId),
  ];
}

/** The streams of everything that is built into an organization. */
export function builtinStreams(org: string): readonly StreamName[] {
  const names = [SUPERUSERS, VIEWERS];
  return [
    serviceAccountStream(org, ADMIN),
    ...names.flatMap((name) => [groupStream(org, name), policyStream(org, name)]),
  ];
}

function builtin(
  org: string,
  name: string,
  description: string,
  memberLinks: readonly string[],
  permissions: readonly string[],
  at: string,
  nextId: () => string,
): ControlEvent[] {
  const common = { org, name, description, tags: {}, origin: 'builtin' } as const;
  const group: GroupState = { ...begun(nextId(), at), ...common, memberLinks };
  const bindings = [{ permissions, principalLinks: [groupLink(org, name)] }];
  const policy: PolicyState = { ...begun(nextId(), at), ...common, targetKind: '*', target: 'all', bindings };
  return [
    { type: 'group-created', stream: groupStream(org, name), auditId: nextId(), data: group },
    { type: 'policy-created', stream: policyStream(org, name), auditId: nextId(), data: policy },
  ];
}
