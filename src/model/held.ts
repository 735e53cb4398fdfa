import type { AccessRules, PolicyBinding } from './access.js';
import { type Given, kindsOf, strongestFirst, targetsOf } from './given.js';
import type { Missing } from './refusal.js';

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
