import { type Kind, kindOf } from '../contract/kinds.js';
import { linkTo } from '../contract/links.js';
import { CONTEXT_NAME_PATTERN } from './audit-event.js';
import type { Read, States } from './control-events.js';
import type { TargetKind } from './permission.js';
import { type FindUser, userOf, usersOf } from './principals.js';
import type { ResourceState } from './resource-kind.js';

type ResourceStream = `${Exclude<keyof States, 'org' | 'key' | 'authz' | 'placement'>}/${string}`;

export function resourceStream({ name, unique }: Kind, org: string, ref: string): ResourceStream {
  return (unique === 'service' ? `${name}/${ref}` : `${name}/${org}/${ref}`) as ResourceStream;
}

/** What names a resource within its organization and kind, in paths and in the read model. */
export function refOf({ ref }: Kind, state: object): string {
  return String((state as Readonly<Record<string, unknown>>)[ref]);
}

/** The resource of the organization that has this reference. */
export function resourceAt(
  read: Read,
  kind: Kind,
  org: string,
  ref: string,
  findUser: FindUser = (one) => userOf(read, org, one),
): ResourceState | undefined {
  if (kind.ref === 'email') return findUser(ref);
  const state = read(resourceStream(kind, org, ref)) as ResourceState | undefined;
  return state?.org === org ? state : undefined;
}

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
