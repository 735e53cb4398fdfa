import type { AccessRules, PolicyBinding } from './access.js';
import type { PolicyDocument } from './control-events.js';
import { implied, type PermissionName, permissionsOn, TARGET_KINDS, type TargetKind } from './permission.js';
import type { Missing } from './refusal.js';

/** Permissions on resources of a kind: on all of them, or on those with these links. */
export interface Given {
  readonly kind: TargetKind;
  readonly permissions: readonly string[];
  readonly targets: 'all' | readonly string[];
}

/** What a policy gives to anybody that it did not give to the same principal before. */
export function newlyGiven(before: PolicyDocument | undefined, after: PolicyDocument): readonly Given[] {
  const same = before?.targetKind === after.targetKind ? before : undefined;
  const targets = targetsOf(after);
  const added = addedTargets(same, targets);
  return kindsOf(after).flatMap((kind) => {
    const [had, has] = [same ? holders(same, kind) : undefined, holders(after, kind)];
    return [...has].flatMap(([permission, principals]): readonly Given[] => {
      const known = had?.get(permission) ?? new Set();
      const isForOthers = [...principals].some((link) => !known.has(link));
      const given = isForOthers ? targets : principals.size > 0 ? added : [];
      return given.length > 0 ? [{ kind, permissions: [permission], targets: given }] : [];
    });
  });
}

function addedTargets(before: PolicyDocument | undefined, targets: Given['targets']): Given['targets'] {
  const known = before ? targetsOf(before) : [];
  if (known === 'all') return [];
  if (targets === 'all') return 'all';
  const links = new Set(known);
  return targets.filter((link) => !links.has(link));
}

/** By permission, what it is implied by included: who has it by the policy. The strongest permission comes first. */
function holders(policy: PolicyDocument, kind: TargetKind): ReadonlyMap<PermissionName, ReadonlySet<string>> {
  const found = new Map<PermissionName, Set<string>>(strongestFirst(kind).map((name) => [name, new Set()]));
  for (const { permissions, principalLinks } of policy.bindings) {
    for (const name of implied(kind, permissions)) for (const link of principalLinks) found.get(name)?.add(link);
  }
  return found;
}

/** Whether the policy gives more to this principal than it did. */
export function isGivenMore(before: PolicyDocument | undefined, after: PolicyDocument, principal: string): boolean {
  return newlyGivenTo(before, after, principal).length > 0;
}

/** What a policy gives to this principal that it did not give to it before. */
export function newlyGivenTo(
  before: PolicyDocument | undefined,
  after: PolicyDocument,
  principal: string,
): readonly Given[] {
  const bindings = after.bindings
    .filter(({ principalLinks }) => principalLinks.includes(principal))
    .map(({ permissions }) => ({ permissions, principalLinks: [principal] }));
  return newlyGiven(before, { ...after, bindings });
}

function kindsOf({ targetKind }: PolicyDocument): readonly TargetKind[] {
  return targetKind === '*' ? TARGET_KINDS : [targetKind];
}

function targetsOf({ target, targetLinks = [] }: PolicyDocument): Given['targets'] {
  return target ?? targetLinks;
}

/** The strongest permission comes first, so a refusal names the one that implies the others. */
function strongestFirst(kind: TargetKind): readonly PermissionName[] {
  return permissionsOn(kind)
    .map(({ name }) => name)
    .reverse();
}

/** What policies give to a user, group or service account by its own name. */
export function givenTo(rules: AccessRules, link: string): readonly Given[] {
  return rules
    .bindingsOf(link)
    .flatMap(({ policy, permissions }: PolicyBinding) =>
      kindsOf(policy).map((kind) => ({ kind, permissions, targets: targetsOf(policy) })),
    );
}

/** The first of these permissions that the principal does not have; undefined when it has all. */
export function missingOf(rules: AccessRules, principal: string, given: readonly Given[]): Missing | undefined {
  for (const { kind, permissions, targets } of given) {
    for (const permission of strongestFirst(kind).filter((name) => permissions.includes(name))) {
      const reach = rules.reach(principal, kind, permission);
      if (reach === 'all') continue;
      if (targets === 'all') return { kind, permission };
      const target = targets.find((link) => !reach.has(link));
      if (target !== undefined) return { kind, permission, target };
    }
  }
  return undefined;
}
