import type { Read } from '../../src/model/control-events.js';

/**
 * Who may do what, said again from the rules in words and as simply as possible: every policy, binding, group and query is
 * gone through for every question. It shares no code with what decides requests and changes; it reads the same state.
 */

/** What one may do, as `kind permission target`; the target is `all` or a link. */
export type Reach = ReadonlySet<string>;

const PERMISSIONS: Readonly<Record<string, readonly string[]>> = {
  user: ['view', 'edit', 'delete', 'invite', 'manage'],
  group: ['view', 'create', 'edit', 'delete', 'manage'],
  serviceaccount: ['view', 'create', 'edit', 'delete', 'addKey', 'manage'],
  policy: ['view', 'create', 'edit', 'delete', 'manage'],
  domain: ['view', 'create', 'edit', 'delete', 'manage'],
  auditctx: ['readAudit', 'writeAudit', 'manage'],
};

/** "`manage` implies all; every permission but view implies view." */
function impliedOn(kind: string, permission: string): string[] {
  const known = PERMISSIONS[kind] ?? [];
  if (!known.includes(permission)) return [];
  if (permission === 'manage') return [...known];
  return known.includes('view') ? [permission, 'view'] : [permission];
}

interface Person {
  readonly email: string;
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** All that a state says; `instead` puts another full name or other tags in the place of those that a user has. */
export class Oracle {
  constructor(
    private readonly read: Read,
    private readonly org: string,
    private readonly instead: Readonly<Record<string, Partial<Omit<Person, 'email'>>>> = {},
  ) {}

  principals(): string[] {
    const users = this.read.all('user', this.org).map(({ email }) => `/org/${this.org}/user/${email}`);
    const accounts = this.read
      .all('serviceaccount', this.org)
      .map(({ name }) => `/org/${this.org}/serviceaccount/${name}`);
    return [...users, ...accounts];
  }

  reach(principal: string): Reach {
    const reach = new Set<string>();
    for (const policy of this.read.all('policy', this.org)) {
      const kinds = policy.targetKind === '*' ? Object.keys(PERMISSIONS) : [policy.targetKind];
      const targets = policy.target === 'all' ? ['all'] : (policy.targetLinks ?? []);
      for (const { permissions, principalLinks } of policy.bindings) {
        if (!principalLinks.some((link) => link === principal || this.isMember(principal, link))) continue;
        for (const kind of kinds) {
          for (const permission of permissions.flatMap((one) => impliedOn(kind, one))) {
            for (const target of targets) reach.add(`${kind} ${permission} ${target}`);
          }
        }
      }
    }
    return reach;
  }

  private isMember(principal: string, groupLink: string): boolean {
    const group = this.group(groupLink);
    if (!group) return false;
    if (group.memberLinks.includes(principal)) return true;
    const user = this.read.all('user', this.org).find(({ email }) => `/org/${this.org}/user/${email}` === principal);
    if (!user || !group.memberQuery) return false;
    const { match = 'all', terms = [] } = group.memberQuery.spec;
    const person = { email: user.email, name: user.name, tags: user.tags, ...this.instead[user.email] };
    const held = terms.map((term) => this.holds(term, person, principal));
    if (match === 'all') return !held.includes(false);
    return match === 'any' ? held.includes(true) : !held.includes(true);
  }

  private holds(term: object, { email, name, tags }: Person, principal: string): boolean {
    const { op = '=', property, tag, rel, value } = term as Readonly<Record<string, string | undefined>>;
    if (rel === 'group') {
      const linked = this.group(`/org/${this.org}/group/${value}`)?.memberLinks.includes(principal) ?? false;
      return op === '=' ? linked : !linked;
    }
    const found = tag === undefined ? { email, name }[property as 'email' | 'name'] : tags[tag];
    if (op === 'exists') return found !== undefined;
    if (op === '!exists') return found === undefined;
    if (op === '!=') return found !== value;
    if (op === '~') return found?.includes(value ?? '') ?? false;
    return found === value;
  }

  private group(link: string) {
    return this.read.all('group', this.org).find(({ name }) => `/org/${this.org}/group/${name}` === link);
  }
}

/** Whether every part of the first reach is in the second, where `all` contains every target. */
export function within(part: Reach, whole: Reach): boolean {
  return beyond(part, whole).length === 0;
}

export function beyond(part: Reach, whole: Reach): string[] {
  return [...part].filter((one) => {
    const [kind, permission] = one.split(' ');
    return !whole.has(one) && !whole.has(`${kind} ${permission} all`);
  });
}

export function together(...reaches: readonly Reach[]): Reach {
  return new Set(reaches.flatMap((one) => [...one]));
}
