import { isSameJson } from './json.js';
import { ControlRefusal } from './refusal.js';

/** What every control resource has. `version` counts its changes from 1. */
export interface Resource {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly version: number;
  readonly created: string;
  readonly lastModified: string;
}

/** `builtin`: made with its organization, and not to be deleted. */
export type Origin = 'default' | 'builtin';

/** A change of one resource. `data` is the resource after it; of a deletion, before it. */
export interface ResourceEvent<Kind extends string, State> {
  readonly type: `${Kind}-${'created' | 'edited' | 'deleted'}`;
  readonly stream: `${Kind}/${string}`;
  readonly auditId: string;
  readonly data: State;
  /** What the audit log calls it, where `create`, `edit` or `delete` says too little. */
  readonly action?: string;
}

export function evolveResource<State>(
  _state: State | undefined,
  event: ResourceEvent<string, State>,
): State | undefined {
  return event.type.endsWith('-deleted') ? undefined : event.data;
}

/** What a decision takes from its command, since it reads no clock and makes no identifiers. */
export interface Occasion {
  /** ISO 8601. */
  readonly at: string;
  /** The identifier number `n`, from 0: the same at every call. */
  readonly id: (n: number) => string;
  /** Link of who asks for the change, and so gives what it gives; null: the root key, which may give everything. */
  readonly granter: string | null;
}

/** The identifiers of the audit events that a decision makes, one after the other, behind those it took itself. */
export function auditIds(occasion: Pick<Occasion, 'id'>, taken = 0): () => string {
  let next = taken;
  return () => {
    next += 1;
    return occasion.id(next - 1);
  };
}

/** The beginning of a resource. */
export function begun(id: string, at: string): Pick<Resource, 'id' | 'version' | 'created' | 'lastModified'> {
  return { id, version: 1, created: at, lastModified: at };
}

/** The resource as it is to be, at its next version; undefined where that changes nothing. */
export function revised<State extends Resource>(before: State, after: State, at: string): State | undefined {
  if (isSameJson(after, before)) return undefined;
  return { ...after, version: before.version + 1, lastModified: at };
}

const BUILTIN_PREFIX = 'svc/';

export function isBuiltinTag(name: string): boolean {
  return name.startsWith(BUILTIN_PREFIX);
}

/**
 * Tags of this prefix are the service's own: a change may repeat them, and alter none. Throws `builtin_tag`, naming those
 * that it would.
 */
export function refuseBuiltinTags(tags: Resource['tags'], before: Resource['tags'] = {}): void {
  const names = new Set([...Object.keys(tags), ...Object.keys(before)]);
  const altered = [...names].filter((name) => isBuiltinTag(name) && tags[name] !== before[name]);
  if (altered.length === 0) return;
  throw new ControlRefusal(
    'builtin_tag',
    `tags beginning with ${BUILTIN_PREFIX} are set by the service only: ${altered.join(', ')}`,
  );
}

/** Groups, service accounts, policies and organizations: 2 to 63 characters. */
export const NAME_PATTERN = '^[a-z][-a-z0-9]*[a-z0-9]$';
