import { settingsOf } from '../../src/kinds/auditctx.js';
import { DOMAIN } from '../../src/kinds/domain.js';
import { GROUP } from '../../src/kinds/group.js';
import { POLICY } from '../../src/kinds/policy.js';
import { SERVICE_ACCOUNT } from '../../src/kinds/service-account.js';
import { USER } from '../../src/kinds/user.js';
import {
  type AuditContextSettings,
  DENIED_RETENTION_DAYS,
  decideSetRetention as decideSettings,
  type SetRetention as SetSettings,
} from '../../src/model/auditctx.js';
import type { Identity, Precondition } from '../../src/model/change.js';
import type {
  ControlEvent,
  DomainDocument,
  GroupDocument,
  PolicyDocument,
  Read,
} from '../../src/model/control-events.js';
import type { Occasion } from '../../src/model/resource.js';
import { resourceAt } from '../../src/model/resource-at.js';
import {
  type CreateResource,
  type DeleteResource,
  decideCreate,
  decideDelete,
  decideEdit,
} from '../../src/model/resource-changes.js';
import type { ResourceDocument, ResourceKind, ResourceState } from '../../src/model/resource-kind.js';
import { finished } from '../../src/model/steps.js';
import type { UserDocument } from '../../src/model/user.js';

/** The decisions of each kind, as tests take them: by name or reference, and an edit as a function of the document. */
type Named = { readonly name: string } | { readonly ref: string };

/** A body that replaces the document of the state before by what becomes of it. */
interface Edit<Document> {
  readonly revise: (document: Document) => Document;
  readonly expected?: Precondition;
  readonly identity?: Identity;
}

const refOf = (named: Named): string => ('ref' in named ? named.ref : named.name);

const creating =
  <State extends ResourceState, Document extends ResourceDocument>(of: ResourceKind<State, Document>) =>
  (read: Read, command: CreateResource<Document>): ControlEvent[] =>
    finished(decideCreate(of, read, command));

const editing =
  <State extends ResourceState, Document extends ResourceDocument>(of: ResourceKind<State, Document>) =>
  (
    read: Read,
    { revise, expected, identity, ...command }: Occasion & { readonly org: string } & Named & Edit<Document>,
  ): ControlEvent[] => {
    const ref = refOf(command);
    const before = resourceAt(read, of.kind, command.org, ref);
    const body = { ...(before && revise(documentOf(of, before))), ...identity };
    const change = { how: 'replace' as const, body, ...(expected !== undefined && { expected }) };
    return finished(decideEdit(of, read, { ...command, ref, change }));
  };

const deleting =
  (of: ResourceKind) =>
  (read: Read, command: Omit<DeleteResource, 'ref'> & Named): ControlEvent[] =>
    finished(decideDelete(of, read, { ...command, ref: refOf(command) }));

function documentOf<Document>({ kind }: Pick<ResourceKind, 'kind'>, state: object): Document {
  const assigned = ['id', 'org', 'version', 'created', 'lastModified', kind.ref, ...kind.assigned];
  return Object.fromEntries(Object.entries(state).filter(([member]) => !assigned.includes(member))) as Document;
}

type CreateOf<Document extends ResourceDocument> = CreateResource<Document>;
type EditOf<Document> = Occasion & { readonly org: string; readonly name: string } & Edit<Document>;

export type CreateDomain = CreateOf<DomainDocument>;
export type EditDomain = EditOf<DomainDocument>;
export const decideCreateDomain = creating(DOMAIN);
export const decideEditDomain = editing(DOMAIN);
export const decideDeleteDomain = deleting(DOMAIN);

export type EditGroup = EditOf<GroupDocument>;
export const decideCreateGroup = creating(GROUP);
export const decideEditGroup = editing(GROUP);
export const decideDeleteGroup = deleting(GROUP);

export type EditPolicy = EditOf<PolicyDocument>;
export const decideCreatePolicy = creating(POLICY);
export const decideEditPolicy = editing(POLICY);
export const decideDeletePolicy = deleting(POLICY);

export type EditServiceAccount = EditOf<ResourceDocument>;
export const decideCreateServiceAccount = creating(SERVICE_ACCOUNT);
export const decideEditServiceAccount = editing(SERVICE_ACCOUNT);
export const decideDeleteServiceAccount = deleting(SERVICE_ACCOUNT);

export type EditUser = Occasion & { readonly org: string; readonly ref: string } & Edit<UserDocument>;
export const decideEditUser = editing(USER);
export const decideDeleteUser = deleting(USER);

export type SetRetention = Omit<SetSettings, 'change'> & Edit<AuditContextSettings>;

/** The settings before are those of a context without any, or those that the state has. */
export function decideSetRetention(read: Read, { revise, expected, identity, ...command }: SetRetention) {
  const { retentionDays = null, deniedRetentionDays = DENIED_RETENTION_DAYS } =
    read(`auditctx/${command.org}/${command.name}`) ?? {};
  const before = { retentionDays, ...(command.name === 'svc' && { deniedRetentionDays }) };
  const body = { ...revise(before), ...identity };
  const change = { how: 'replace' as const, body, ...(expected !== undefined && { expected }) };
  return decideSettings(settingsOf(command.name), read, { ...command, change });
}
