import type { DomainSpec } from './domain-spec.js';
import type { IngestSettings } from './ingest.js';
import type { MemberQuery } from './member-query.js';
import type { TargetKind } from './permission.js';
import type { IdentifiersPlaced, PlacementState } from './placement.js';
import type { Origin, Resource, ResourceEvent } from './resource.js';
import type { Steps } from './steps.js';

/** Every control resource: its kind in stream names, and its state. A resource with rules of its own adds a line here. */
export interface States {
  org: OrgState;
  auditctx: AuditContextState;
  user: UserState;
  group: GroupState;
  serviceaccount: ServiceAccountState;
  policy: PolicyState;
  invitation: InvitationState;
  domain: DomainState;
  key: KeyState;
  authz: AuthzState;
  placement: PlacementState;
}

export type StreamName = `${keyof States | 'keyuse'}/${string}`;

export type ControlEvent =
  | OrgEvent
  | AuditContextEvent
  | UserEvent
  | GroupEvent
  | ServiceAccountEvent
  | PolicyEvent
  | InvitationEvent
  | DomainEvent
  | KeyEvent
  | AuthzEvent
  | IdentifiersPlaced;

/** Kinds whose resources name users, groups and service accounts. */
export type NamingKind = 'group' | 'policy';

/** The links that a group or policy names; empty for all other kinds. */
export function linksNamedIn(state: States[keyof States] | undefined): ReadonlySet<string> {
  if (state && 'memberLinks' in state) return new Set(state.memberLinks);
  if (state && 'bindings' in state) return new Set(state.bindings.flatMap(({ principalLinks }) => principalLinks));
  return NONE;
}

const NONE: ReadonlySet<string> = new Set();

/** The state of the resources, as a decision sees it. */
export interface Read {
  /** The state of a resource, or undefined where there is none (never made, or deleted). */
  <Kind extends keyof States>(stream: `${Kind}/${string}`): States[Kind] | undefined;
  /**
   * All resources of a kind in an organization. A decision that rests on this must change `authz/{org}`, or read the
   * streams one by one: only single streams have versions that the record can name.
   */
  all<Kind extends keyof States>(kind: Kind, org: string): readonly States[Kind][];
  /**
   * The groups that have a link as a member, or the policies that have it as a principal, in the order of their names. It
   * costs a look-up, however many there are of others. A decision that rests on it is bound as by `all`.
   */
  naming<Kind extends NamingKind>(kind: Kind, link: string): readonly States[Kind][];
  /** The keys that speak for a principal, by its link. */
  keysOf(principal: string): readonly { readonly stream: `key/${string}`; readonly state: KeyState }[];
}

/**
 * A decision that may look at many resources. The state can change between its steps, so it reads the streams that it rests on
 * before the first: when one of them moves, what it decides is void.
 */
export type Deciding = Steps<ControlEvent[]>;

export function kindOfStream(stream: StreamName): keyof States {
  return stream.slice(0, stream.indexOf('/')) as keyof States;
}

/** The settings of an audit context. A context exists without them too, from its first event on. */
export interface AuditContextState {
  readonly id: string;
  readonly org: string;
  readonly name: string;
  /** How long events are served after the log took them; null: for ever. */
  readonly retentionDays: number | null;
  /**
   * In milliseconds: what the log took before this instant was hidden by an earlier setting. It stays hidden, so that a
   * longer retention does not bring back what a shorter one has let go.
   */
  readonly hiddenBefore: number;
  /** As `retentionDays` and `hiddenBefore`, of the denied attempts; only in the service's own context. */
  readonly deniedRetentionDays?: number | null;
  readonly deniedHiddenBefore?: number;
  /** How lines that are no events become events; records from before it was there have none. */
  readonly ingest?: IngestSettings;
  /** Counts the settings from 1. */
  readonly version: number;
  readonly created: string;
  readonly lastModified: string;
}

interface RetentionSet {
  readonly type: 'auditctx-retention-set';
  readonly stream: `auditctx/${string}`;
  readonly auditId: string;
  readonly data: AuditContextState;
}

export type AuditContextEvent = RetentionSet;

/** What a caller says of a group. */
export interface GroupDocument {
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Links of users (by e-mail address) and service accounts. */
  readonly memberLinks: readonly string[];
  readonly memberQuery?: MemberQuery;
}

export interface GroupState extends Resource, GroupDocument {
  readonly org: string;
  readonly origin: Origin;
}

export type GroupEvent = ResourceEvent<'group', GroupState>;

/** Only the SHA-256 of the acceptance code is kept. */
export interface InvitationState {
  readonly id: string;
  readonly org: string;
  /** In lower case. */
  readonly email: string;
  /** Name of the group to join, and its id: one that is made anew under the name is another. */
  readonly group?: string;
  readonly groupId?: string;
  /**
   * Link of who sent it, and so gives what joining gives, and its id: one that is made anew under the link is another.
   * Either is absent if the invitation was sent before it was recorded: such an invitation makes a user, but gives nothing.
   */
  readonly inviter?: string;
  readonly inviterId?: string;
  readonly codeHash: string;
  readonly expires: string;
  readonly version: number;
  readonly created: string;
  readonly lastModified: string;
}

export type InvitationEvent = ResourceEvent<'invitation', InvitationState>;

/** An API key. Only the SHA-256 of its secret is known; it is the stream's name. */
export interface KeyState {
  readonly id: string;
  readonly org: string;
  /** Link of the service account or user that the key speaks for. */
  readonly principal: string;
  readonly description: string;
  readonly issued: string;
  /** From this instant on the key is worth nothing. */
  readonly expires?: string;
  /** The day of the last use that was recorded, as an ISO 8601 date in UTC. */
  readonly lastUsed?: string;
}

export interface KeyIssued {
  readonly type: 'key-issued' | 'key-revoked';
  readonly stream: `key/${string}`;
  readonly auditId: string;
  readonly data: KeyState;
}

/**
 * A key was used on a day. It has a stream of its own, which has no state and no version: the day becomes part of the
 * key's state without raising the key's version, so no decision that rests on the key is void because the key was used.
 */
export interface KeyUsed {
  readonly type: 'key-used';
  readonly stream: `keyuse/${string}`;
  readonly day: string;
}

type KeyEvent = KeyIssued | KeyUsed;

export type OrgState = Resource;

interface OrgCreated {
  readonly type: 'org-created';
  readonly stream: `org/${string}`;
  readonly auditId: string;
  readonly data: OrgState;
}

export type OrgEvent = OrgCreated;

/** These principals have these permissions. */
interface Binding {
  readonly permissions: readonly string[];
  /** Users, groups and service accounts. */
  readonly principalLinks: readonly string[];
}

/** What a caller says of a policy. */
export interface PolicyDocument {
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  /** `*`: of the built-in policies, every kind. */
  readonly targetKind: TargetKind | '*';
  /** Every resource of the kind, in place of links. */
  readonly target?: 'all';
  readonly targetLinks?: readonly string[];
  readonly bindings: readonly Binding[];
}

export interface PolicyState extends Resource, PolicyDocument {
  readonly org: string;
  readonly origin: Origin;
}

export type PolicyEvent = ResourceEvent<'policy', PolicyState>;

/** Bumped by every change of what anyone in an organization may do: decisions that rest on permissions read it. */
export interface AuthzState {
  readonly changes: number;
}

export interface AuthzEvent {
  readonly type: 'authz-changed';
  readonly stream: `authz/${string}`;
}

/** What a caller says of a domain. */
export interface DomainDocument {
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly spec: DomainSpec;
}

export interface DomainState extends Resource, DomainDocument {
  readonly org: string;
}

type DomainEvent = ResourceEvent<'domain', DomainState>;

export interface ServiceAccountState extends Resource {
  readonly org: string;
  readonly origin: Origin;
}

type ServiceAccountEvent = ResourceEvent<'serviceaccount', ServiceAccountState>;

/** A user is known by the e-mail address, in lower case; it does not change. `name` is the full name. */
export interface UserState extends Resource {
  readonly org: string;
  readonly email: string;
  /** The identity provider that vouches for the address. */
  readonly idp: string;
}

type UserEvent = ResourceEvent<'user', UserState>;
