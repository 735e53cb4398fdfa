import { DOMAIN } from './domain.js';
import { GROUP } from './group.js';
import { POLICY } from './policy.js';
import { SERVICE_ACCOUNT } from './service-account.js';
import type { ShapedKind } from './shaped-kind.js';
import { USER } from './user.js';

/** The kinds of resources that have the routes, commands and schemas of every kind. */
export const RESOURCE_KINDS: ShapedKind[] = [DOMAIN, GROUP, POLICY, SERVICE_ACCOUNT, USER];

export function resourceKindOf(name: string): ShapedKind {
  const found = RESOURCE_KINDS.find(({ kind }) => kind.name === name);
  if (!found) throw new Error(`no kind of resources has the name ${name}`);
  return found;
}
