import { UsageError } from '../output/failures.js';

/** These principals have these permissions. */
export interface Binding {
  permissions: readonly string[];
  principalLinks: readonly string[];
}

/**
 * `PERMISSION,...=PRINCIPAL,...`. `link` makes the link of what is written for a principal. Throws `UsageError` for any
 * other text.
 */
export function parseBinding(text: string, link: (written: string) => string): Binding {
  const equals = text.indexOf('=');
  const permissions = text.slice(0, Math.max(0, equals)).split(',').filter(Boolean);
  const principals = text
    .slice(equals + 1)
    .split(',')
    .filter(Boolean);
  if (equals < 1 || permissions.length === 0 || principals.length === 0) {
    throw new UsageError(`--binding is PERMISSION=PRINCIPAL such as view,edit=group/devs, not \`${text}\``);
  }
  return { permissions, principalLinks: principals.map(link) };
}

/** The bindings with one more; principals of the same permissions share one. */
export function withBinding(bindings: readonly Binding[], more: Binding): Binding[] {
  const at = bindings.findIndex(({ permissions }) => sameTexts(permissions, more.permissions));
  const found = bindings[at];
  if (!found) return [...bindings, more];
  return bindings.with(at, { ...found, principalLinks: union(found.principalLinks, more.principalLinks) });
}

/** The bindings where these principals have these permissions no longer; all else stays granted. */
export function withoutBinding(bindings: readonly Binding[], less: Binding): Binding[] {
  const isMeant = (link: string) => less.principalLinks.includes(link);
  return bindings
    .flatMap(({ permissions, principalLinks }): Binding[] => {
      const left = permissions.filter((name) => !less.permissions.includes(name));
      if (left.length === permissions.length || !principalLinks.some(isMeant)) return [{ permissions, principalLinks }];
      return [
        { permissions, principalLinks: principalLinks.filter((link) => !isMeant(link)) },
        { permissions: left, principalLinks: principalLinks.filter(isMeant) },
      ];
    })
    .filter(({ permissions, principalLinks }) => permissions.length > 0 && principalLinks.length > 0);
}

/** Whether a binding gives each of these principals each of these permissions. */
export function isGranted(bindings: readonly Binding[], { permissions, principalLinks }: Binding): boolean {
  return permissions.every((name) =>
    principalLinks.every((link) =>
      bindings.some((one) => one.permissions.includes(name) && one.principalLinks.includes(link)),
    ),
  );
}

const union = (list: readonly string[], more: readonly string[]): string[] => [...new Set([...list, ...more])];

const sameTexts = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text) => other.includes(text));
