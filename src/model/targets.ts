import { linkTo } from '../contract/links.js';
import { CONTEXT_NAME_PATTERN } from './audit-event.js';
import type { Read } from './control-events.js';
import type { TargetKind } from './permission.js';
import { type FindUser, usersOf } from './principals.js';
import { domainStream, groupStream, policyStream, serviceAccountStream } from './streams.js';

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
  switch (kind) {
    case 'user': {
      const user = findUser(ref);
      return user && linkTo(org, kind, user.email);
    }
    case 'group':
      return read(groupStream(org, ref)) && linkTo(org, kind, ref);
    case 'serviceaccount':
      return read(serviceAccountStream(org, ref)) && linkTo(org, kind, ref);
    case 'policy':
      return read(policyStream(org, ref)) && linkTo(org, kind, ref);
    case 'domain':
      return read(domainStream(ref))?.org === org ? linkTo(org, kind, ref) : undefined;
    case 'auditctx':
      return CONTEXT_NAME.test(ref) ? linkTo(org, kind, ref) : undefined;
  }
}
