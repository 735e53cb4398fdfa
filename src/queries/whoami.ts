import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import { ControlState } from '../control/state.js';
import type { AccessRules, Principal } from '../model/access.js';
import type { KeyState } from '../model/control-events.js';
import { type PermissionName, permissionsOn, TARGET_KINDS, type TargetKind } from '../model/permission.js';
import { keyStream } from '../model/streams.js';

/** How many links are listed for a permission on single resources; the others are counted. */
const MOST_LINKS = 20;

/** Where a permission holds: on all resources of its kind, or on so many, of which these are the first by their links. */
type Held = 'all' | { readonly total: number; readonly links: readonly string[] };

export interface Identity {
  readonly key: KeyState;
  /** By kind, those that are held anywhere. */
  readonly permissions: Readonly<Partial<Record<TargetKind, Readonly<Partial<Record<PermissionName, Held>>>>>>;
}

/** By which key a principal speaks, and what it may do. Throws `unauthenticated` where the key was revoked; log in again with `svc login`. */
export class WhoAmI extends Query<Identity> {
  constructor(readonly principal: Principal) {
    super();
  }
}

@QueryHandler(WhoAmI)
export class WhoAmIHandler implements IQueryHandler<WhoAmI> {
  constructor(private readonly state: ControlState) {}

  async execute({ principal: { org, link, keyHash } }: WhoAmI): Promise<Identity> {
    // Everything granted or revoked before the request, on any instance, is in the response.
    await this.state.confirm();
    const key = this.state.read(keyStream(keyHash));
    if (!key) throw new ControlError('unauthenticated', 'the key was revoked; log in again with `svc login`');
    const rules = this.state.rules(org);
    const kinds = TARGET_KINDS.map((kind) => [kind, heldOn(rules, link, kind)] as const);
    return { key, permissions: Object.fromEntries(kinds.filter(([, held]) => Object.keys(held).length > 0)) };
  }
}

function heldOn(rules: AccessRules, principal: string, kind: TargetKind): Partial<Record<PermissionName, Held>> {
  const held: Partial<Record<PermissionName, Held>> = {};
  for (const { name } of permissionsOn(kind)) {
    const reach = rules.reach(principal, kind, name);
    if (reach === 'all') held[name] = reach;
    else if (reach.size > 0) held[name] = { total: reach.size, links: [...reach].sort().slice(0, MOST_LINKS) };
  }
  return held;
}
