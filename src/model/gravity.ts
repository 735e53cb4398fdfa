import { parseLink } from '../contract/links.js';
import type { AccessRules } from './access.js';
import { SUPERUSERS } from './superusers.js';

/**
 * What a refused request would have given the caller: power over everything, some power over others, or neither. Each
 * has limits of its own when refusals are recorded, so that none hides another of more weight.
 */
export const GRAVITIES = ['superuser', 'privilege', 'plain'] as const;
export type Gravity = (typeof GRAVITIES)[number];

export interface Wanted {
  /** A target kind; `org` where the route asks for no permission. */
  readonly kind: string;
  /** A permission; `root` or `member` where the route asks for none. */
  readonly permission: string;
  /** Link of the resource that the request names, if it exists. */
  readonly target?: string;
}

const PRIVILEGES: readonly string[] = ['manage', 'addKey', 'invite'];
const CHANGES: readonly string[] = ['create', 'edit', 'delete'];
const PRINCIPAL_KINDS: readonly string[] = ['user', 'group', 'serviceaccount', 'policy'];

export function gravityOf(rules: AccessRules, { kind, permission, target }: Wanted): Gravity {
  if (permission === 'root') return 'superuser';
  const isPrivilege =
    PRIVILEGES.includes(permission) || (PRINCIPAL_KINDS.includes(kind) && CHANGES.includes(permission));
  if (!isPrivilege) return 'plain';
  // A caller who manages all of these, or creates a policy, could get every permission.
  const isOverAll = target === undefined && permission === 'manage' && PRINCIPAL_KINDS.includes(kind);
  if (isOverAll || (kind === 'policy' && permission === 'create')) return 'superuser';
  return target !== undefined && givesEverything(rules, target) ? 'superuser' : 'privilege';
}

/** A caller who may edit all policies could get every permission. */
function givesEverything(rules: AccessRules, target: string): boolean {
  const { kind, ref } = parseLink(target) ?? {};
  if (kind === 'policy') return ref === SUPERUSERS;
  return rules.reach(target, 'policy', 'edit') === 'all';
}
