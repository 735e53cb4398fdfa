import type { Read } from './control-events.js';
import { keyStream } from './key.js';
import { orgStream } from './org.js';

/** Who a request speaks for. */
export interface Principal {
  readonly org: string;
  readonly link: string;
  readonly name: string;
}

export type Permission = 'view' | 'readAudit' | 'writeAudit' | 'manage';

/** The principal that a key speaks for, by the SHA-256 of the key. */
export function principalOf(read: Read, keyHash: string): Principal | undefined {
  const key = read(keyStream(keyHash));
  if (!key) return undefined;
  return { org: key.org, link: key.principal, name: key.principal.slice(key.principal.lastIndexOf('/') + 1) };
}

/**
 * Whether the principal may do this in the organization: superusers may do everything, others nothing. Says no alike
 * for another organization and for none.
 */
export function mayDo(read: Read, principal: Principal, org: string, _permission: Permission): boolean {
  if (principal.org !== org) return false;
  return read(orgStream(org))?.superusers.includes(principal.link) ?? false;
}
