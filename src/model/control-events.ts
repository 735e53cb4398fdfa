import type { AuditContextEvent, AuditContextState } from './auditctx.js';
import type { AuthzEvent, AuthzState } from './authz.js';
import type { KeyEvent, KeyState } from './key.js';
import type { OrgEvent, OrgState } from './org.js';
import type { ServiceAccountEvent, ServiceAccountState } from './service-account.js';

/** Every control resource: its kind in stream names, and its state. A new resource adds a line here and in the fold. */
export interface States {
  org: OrgState;
  auditctx: AuditContextState;
  serviceaccount: ServiceAccountState;
  key: KeyState;
  authz: AuthzState;
}

/** A stream's name is its resource's natural key, so "the name is free" means "the stream has no state". */
export type StreamName = `${keyof States}/${string}`;

export type ControlEvent = OrgEvent | AuditContextEvent | ServiceAccountEvent | KeyEvent | AuthzEvent;

/** The state of a resource, or undefined where there is none (never made, or deleted). */
export type Read = <Kind extends keyof States>(stream: `${Kind}/${string}`) => States[Kind] | undefined;

export function kindOfStream(stream: StreamName): keyof States {
  return stream.slice(0, stream.indexOf('/')) as keyof States;
}
