import { authzChanged } from './authz.js';
import type { ControlEvent, Read } from './control-events.js';
import { keyStream } from './key.js';
import { ControlRefusal } from './refusal.js';
import { type Resource, refuseBuiltinTags } from './resource.js';
import { serviceAccountLink, serviceAccountStream } from './service-account.js';

export interface OrgState extends Resource {
  /** Links of the principals that may do everything in the organization. */
  readonly superusers: readonly string[];
}

interface OrgCreated {
  readonly type: 'org-created';
  readonly stream: `org/${string}`;
  readonly auditId: string;
  readonly data: OrgState;
}

export type OrgEvent = OrgCreated;

export function orgStream(name: string): `org/${string}` {
  return `org/${name}`;
}

export function evolveOrg(_state: OrgState | undefined, event: OrgEvent): OrgState {
  return event.data;
}

/** The first account of every organization; its first key is the way in. */
export const ADMIN = 'admin';

export interface CreateOrg {
  readonly name: string;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly at: string;
  /** SHA-256 of the admin's first key, in hex. */
  readonly keyHash: string;
  readonly ids: Readonly<
    Record<'org' | 'serviceAccount' | 'key' | 'orgAudit' | 'serviceAccountAudit' | 'keyAudit', string>
  >;
}

/** Makes the organization, its service account `admin` and that account's first key: one record, all or nothing. */
export function decideCreateOrg(read: Read, command: CreateOrg): ControlEvent[] {
  const { name, description, tags, at, keyHash, ids } = command;
  refuseBuiltinTags(tags);
  if (read(orgStream(name))) throw new ControlRefusal('already_exists', `an organization named ${name} exists`);
  const admin = serviceAccountLink(name, ADMIN);
  const first = { version: 1, created: at, lastModified: at };
  return [
    {
      type: 'org-created',
      stream: orgStream(name),
      auditId: ids.orgAudit,
      data: { id: ids.org, name, description, tags, ...first, superusers: [admin] },
    },
    {
      type: 'serviceaccount-created',
      stream: serviceAccountStream(name, ADMIN),
      auditId: ids.serviceAccountAudit,
      data: {
        id: ids.serviceAccount,
        org: name,
        name: ADMIN,
        description: ADMIN,
        tags: {},
        ...first,
        origin: 'builtin',
      },
    },
    {
      type: 'key-issued',
      stream: keyStream(keyHash),
      auditId: ids.keyAudit,
      data: { id: ids.key, org: name, principal: admin, description: 'first key', issued: at },
    },
    authzChanged(name),
  ];
}
