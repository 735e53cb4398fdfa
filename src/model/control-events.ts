import type { AuditContextEvent, AuditContextState } from './auditctx.js';
import type { AuthzEvent, AuthzState } from './authz.js';
import type { DomainEvent, DomainState } from './domain.js';
import type { GroupEvent, GroupState } from './group.js';
import type { InvitationEvent, InvitationState } from './invitation.js';
import type { KeyEvent, KeyState } from './key.js';
import type { OrgEvent, OrgState } from './org.js';
import type { PolicyEvent, PolicyState } from './policy.js';
import type { ServiceAccountEvent, ServiceAccountState } from './service-account.js';
import type { UserEvent, UserState } from './user.js';

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
  | AuthzEvent;

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

export function kindOfStream(stream: StreamName): keyof States {
  return stream.slice(0, stream.indexOf('/')) as keyof States;
}
