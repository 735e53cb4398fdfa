import type { Kind } from '../contract/kinds.js';
import type { Read, States } from './control-events.js';
import { type FindUser, userOf } from './principals.js';
import type { ResourceState } from './resource-kind.js';

type ResourceStream = `${Exclude<keyof States, 'org' | 'key' | 'authz'>}/${string}`;

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
