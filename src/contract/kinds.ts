/**
 * What server and client agree on about every kind of resource. Plain data: the server derives routes, commands,
 * permissions, quotas, links, schemas and their documentation from it, `svc` its verbs, columns and completion. The rules
 * of a kind are in `src/model`, and its shape in `src/kinds`.
 *
 * A new kind is a new entry here, a descriptor in `src/kinds` and whatever is special about it.
 */
export interface Kind {
  /** In paths, links and stream names, the `kind` of the resources themselves, and the word after `svc`. */
  readonly name: string;
  /** In the names of schemas and operations. */
  readonly schema: string;
  /** One of them and several, in a sentence. */
  readonly noun: string;
  readonly plural: string;
  /** A reference, for examples. */
  readonly example: string;
  /**
   * The member that names one within its organization, in paths and links. References by e-mail address are taken in any
   * case, and the identifier is a reference as well.
   */
  readonly ref: 'name' | 'email' | 'id';
  /** Where a reference is unique. */
  readonly unique: 'organization' | 'service';
  /** The operations that its routes offer. `edit` is both PATCH and PUT. */
  readonly operations: readonly Operation[];
  /** What policies can grant on it, weakest first; `manage` implies all, and all but `view` imply `view`. */
  readonly permissions: readonly Permission[];
  /** Members, besides those of every resource and the reference, that the service sets once: a client may repeat them. */
  readonly assigned: readonly string[];
  /** Members that are shown and are no part of the resource: a client may send anything in their place. */
  readonly shown: readonly string[];
  /** The operations that are refused with `builtin_resource` on what the service itself needs. */
  readonly builtin: readonly Operation[];
  /** How many there may be, and the setting that says so. `isForGood`: nothing deletes them. */
  readonly quota: {
    readonly setting: string;
    readonly usual: number;
    readonly plural?: string;
    readonly isForGood?: true;
  };
  /** What the documentation says of an operation, besides what it says of every kind. */
  readonly says: Says;
  /** Columns of the text format of `svc`. */
  readonly columns: readonly Column[];
  /** What `svc` says of the commands of the kind. */
  readonly summary?: string;
  /** The name of a copy, for examples of `svc <kind> clone`, which copies all members but the assigned ones, name, description and tags. */
  readonly copy?: string;
}

export type Operation =
  | 'create'
  | 'list'
  | 'get'
  | 'edit'
  | 'delete'
  | 'query'
  /** `GET .../{ref}/-eventlog` */
  | 'eventlog'
  /** `GET .../{ref}/-accessreport` */
  | 'accessreport'
  /** `GET .../-schema/permissions` */
  | 'permissions'
  /** `-addKey`, `-removeKey` and `-keys`: the resources are principals, which have keys. */
  | 'keys';

interface Says {
  /** What an edit can change, if not the whole resource. */
  readonly edited?: string;
  readonly create?: string;
  readonly get?: string;
  readonly patch?: string;
  readonly delete?: string;
}

export interface Column {
  readonly header: string;
  /** The member by its path. */
  readonly member: string;
  /** How it is shown: as it is, as a time, as `KEY=VALUE, ...`, as the number of its elements, or by a function of `svc`. */
  readonly as?: 'time' | 'tags' | 'count' | 'special';
  /** Cut when the terminal is narrow. What people copy is never cut. */
  readonly shrinks?: true;
}

/** What each permission lets its holder do. */
export const PERMISSIONS = {
  view: 'Read the resource, and find it in lists',
  create: 'Create resources of this kind',
  edit: 'Change the resource',
  delete: 'Delete the resource',
  invite: 'Invite users to the organization',
  addKey: 'Issue and revoke keys of the service account',
  readAudit: 'Read the audit events of the context',
  writeAudit: 'Publish audit events into the context',
  manage: 'Everything, the access to the resource included',
} as const;

export type Permission = keyof typeof PERMISSIONS;

/** Of what is created, edited and deleted by requests. */
const MANAGED = ['view', 'create', 'edit', 'delete', 'manage'] as const;
const EXISTING = ['list', 'get', 'edit', 'delete', 'query', 'eventlog', 'accessreport', 'permissions'] as const;
const MANAGEABLE = ['create', ...EXISTING] as const;

const TAGS: Column = { header: 'TAGS', member: 'tags', as: 'tags', shrinks: true };
const ORIGIN: Column = { header: 'ORIGIN', member: 'origin' };
const CREATED: Column = { header: 'CREATED', member: 'created', as: 'time' };
/** The first columns of most kinds. */
const DESCRIBED: readonly Column[] = [
  { header: 'NAME', member: 'name' },
  { header: 'DESCRIPTION', member: 'description', shrinks: true },
  CREATED,
];

/** Callers with the permission create, edit and delete these; those made with the organization cannot be deleted. */
const NAMED = {
  ref: 'name',
  unique: 'organization',
  operations: MANAGEABLE,
  permissions: MANAGED,
  assigned: ['origin'],
  shown: [],
  builtin: ['edit', 'delete'],
} as const;

/** Without operations of its own. */
const APART = { unique: 'organization', assigned: [], shown: [], builtin: [], says: {} } as const;

const USER = {
  ...APART,
  name: 'user',
  schema: 'User',
  noun: 'user',
  plural: 'users',
  example: 'ann@example.com',
  ref: 'email',
  operations: [...EXISTING, 'keys'],
  permissions: ['view', 'edit', 'delete', 'invite', 'manage'],
  assigned: ['idp'],
  builtin: ['delete'],
  quota: { setting: 'CONTROL_QUOTA_USERS', usual: 100_000 },
  says: { edited: 'the full name, description and tags', delete: ', with its memberships, policy bindings and keys' },
  columns: [
    { header: 'ID', member: 'id' },
    { header: 'FULL NAME', member: 'name', shrinks: true },
    { header: 'EMAIL', member: 'email' },
    CREATED,
    { header: 'IDENTITY PROVIDER', member: 'idp' },
    TAGS,
  ],
  summary: 'invite and manage users, and their keys',
} as const satisfies Kind;

const GROUP = {
  ...NAMED,
  name: 'group',
  schema: 'Group',
  noun: 'group',
  plural: 'groups',
  example: 'devs',
  quota: { setting: 'CONTROL_QUOTA_GROUPS', usual: 10_000 },
  says: {
    patch: '; memberLinks also takes $append, $drop and $replace',
    delete: '; the policies that name it lose it',
  },
  columns: [...DESCRIBED, { header: 'FILTER', member: 'memberQuery', as: 'special' }, ORIGIN, TAGS],
  summary: 'manage groups and their members',
  copy: 'ops',
} as const satisfies Kind;

const SERVICE_ACCOUNT = {
  ...NAMED,
  name: 'serviceaccount',
  schema: 'ServiceAccount',
  noun: 'service account',
  plural: 'service accounts',
  example: 'ci',
  operations: [...MANAGEABLE, 'keys'],
  permissions: ['view', 'create', 'edit', 'delete', 'addKey', 'manage'],
  shown: ['keys'],
  builtin: ['delete'],
  quota: { setting: 'CONTROL_QUOTA_SERVICE_ACCOUNTS', usual: 10_000 },
  says: {
    edited: 'the description and tags',
    create: '; it has no key yet',
    get: ', and which keys it has',
    delete: ', with its memberships, policy bindings and keys',
  },
  columns: [...DESCRIBED, { header: 'KEYS', member: 'keys', as: 'count' }, ORIGIN, TAGS],
  summary: 'manage service accounts and their keys',
} as const satisfies Kind;

const POLICY = {
  ...NAMED,
  name: 'policy',
  schema: 'Policy',
  noun: 'policy',
  plural: 'policies',
  example: 'deployers',
  quota: { setting: 'CONTROL_QUOTA_POLICIES', usual: 10_000 },
  says: {
    create: ', which gives permissions on all resources of a kind, or on some of them',
    patch: '; target takes the place of targetLinks and back',
    delete: ': what it alone granted is granted no more',
  },
  columns: [
    ...DESCRIBED,
    { header: 'TARGET KIND', member: 'targetKind' },
    { header: 'TARGET', member: 'target', as: 'special', shrinks: true },
    { header: 'BINDINGS', member: 'bindings', as: 'special', shrinks: true },
    ORIGIN,
    TAGS,
  ],
  summary: 'manage policies: who may do what to which resources',
  copy: 'releasers',
} as const satisfies Kind;

const DOMAIN = {
  ...NAMED,
  name: 'domain',
  schema: 'Domain',
  noun: 'domain',
  plural: 'domains',
  example: 'www.example.com',
  unique: 'service',
  assigned: [],
  builtin: [],
  quota: { setting: 'CONTROL_QUOTA_DOMAINS', usual: 10_000 },
  says: {
    create: '; its name is unique over all organizations',
    patch: ', and the whole is checked again',
    delete: '; the policies that name it lose it',
  },
  columns: [
    ...DESCRIBED,
    { header: 'DNS MODE', member: 'spec.dnsMode' },
    { header: 'PORTS', member: 'spec.ports', as: 'special', shrinks: true },
    TAGS,
  ],
  summary: 'manage domains: host names, and where their traffic goes',
  copy: 'test.example.com',
} as const satisfies Kind;

/** An audit context is made by its first event. Its settings have routes of their own, on the audit API. */
const AUDIT_CONTEXT = {
  ...APART,
  name: 'auditctx',
  schema: 'AuditContext',
  noun: 'audit context',
  plural: 'audit contexts',
  example: 'default',
  ref: 'name',
  operations: ['permissions'],
  permissions: ['readAudit', 'writeAudit', 'manage'],
  shown: ['count'],
  quota: {
    setting: 'CONTROL_QUOTA_AUDIT_CONTEXTS',
    usual: 10_000,
    plural: 'audit contexts with settings',
    isForGood: true,
  },
  columns: [],
} as const satisfies Kind;

/** Callers who may `invite` users send and revoke invitations. */
const INVITATION = {
  ...APART,
  name: 'invitation',
  schema: 'Invitation',
  noun: 'invitation',
  plural: 'invitations',
  example: '01890a5d-ac96-774b-bcce-b302099a8057',
  ref: 'id',
  operations: [],
  permissions: [],
  quota: { setting: 'CONTROL_QUOTA_INVITATIONS', usual: 10_000, plural: 'open invitations' },
  columns: [
    { header: 'ID', member: 'id' },
    { header: 'EMAIL', member: 'email' },
    { header: 'GROUP', member: 'group' },
    CREATED,
    { header: 'EXPIRES', member: 'expires', as: 'time' },
  ],
  summary: 'accept, list and revoke invitations',
} as const satisfies Kind;

/** All kinds within an organization, in the order in which they are listed. */
export const KINDS = [USER, GROUP, SERVICE_ACCOUNT, POLICY, DOMAIN, AUDIT_CONTEXT, INVITATION] as const;

export type KindName = (typeof KINDS)[number]['name'];

/** Kinds that policies grant permissions on. */
export type TargetKind = Exclude<KindName, 'invitation'>;

/** Throws for a name that no kind has: names from outside are looked up in `KINDS`. */
export function kindOf(name: string): Kind {
  const found = KINDS.find((kind) => kind.name === name);
  if (!found) throw new Error(`no kind has the name ${name}`);
  return found;
}

/** The kinds that offer the operation. */
export function kindsWith(operation: Operation): readonly Kind[] {
  return KINDS.filter(({ operations }: Kind) => operations.includes(operation));
}

/** The audit context that only the service writes: the events of its own changes. */
export const SERVICE_CONTEXT = 'svc';
