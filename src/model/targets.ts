import { kindOf } from '../contract/kinds.js';
import { linkTo } from '../contract/links.js';
import { CONTEXT_NAME_PATTERN } from './audit-event.js';
import type { Read } from './control-events.js';
import type { TargetKind } from './permission.js';
import { type FindUser, usersOf } from './principals.js';
import { refOf, resourceAt } from './resource-at.js';

const CONTEXT_NAME = new RegExp(CONTEXT_NAME_PATTERN);

/**
 * The link under which policies name a resource; undefined where there is none. Audit contexts count as there by their
 * names: the first event makes them, and who may publish it is settled before.
 */
export function targetLink(
  read: Read,
  org: string,
  kind: TargetKind,
  ref: string,
  findUser: FindUser = usersOf(read, org),
): string | undefined {
  if (kind === 'auditctx') return CONTEXT_NAME.test(ref) ? linkTo(org, kind, ref) : undefined;
  const described = kindOf(kind);
  const found = resourceAt(read, described, org, ref, findUser);
  return found && linkTo(org, kind, refOf(described, found));
}
