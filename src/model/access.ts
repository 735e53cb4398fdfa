import { linkTo, parseLink } from '../contract/links.js';
import type { GroupState, PolicyState, Read, UserState } from './control-events.js';
import { isLive } from './key-life.js';
import { memberCandidate } from './members.js';
import { implied, type PermissionName, permissionsOn, type TargetKind } from './permission.js';
import { type Candidate, matches } from './query.js';
import type { Steps } from './steps.js';
import { keyStream, serviceAccountStream, userStream } from './streams.js';
import { viewOf } from './views.js';

/** Who a request speaks for. */
export interface Principal {
  readonly org: string;
  /** Of the user or service account. */
  readonly link: string;
  readonly name: string;
  readonly email?: string;
  /** Of the key that was presented: its id, and the SHA-256 of its secret, in hex. */
  readonly keyId: string;
  readonly keyHash: string;
}

/** The principal that a key speaks for, by the SHA-256 of the key; undefined for one that is unknown or has expired. */
export function principalOf(read: Read, keyHash: string, now: number): Principal | undefined {
  const key = read(keyStream(keyHash));
  if (!key || !isLive(key, now)) return undefined;
  const { org, principal: link, id: keyId } = key;
  const { kind, ref = '' } = parseLink(link) ?? {};
  const known = { org, link, keyId, keyHash };
  if (kind === 'serviceaccount') return read(serviceAccountStream(org, ref)) && { ...known, name: ref };
  const user = kind === 'user' ? read(userStream(org, ref)) : undefined;
  return user && { ...known, name: user.name, email: user.email };
}

/** How a principal comes by a binding: named itself, as a linked member of a group, or as one who matches its query. */
type Via = 'direct' | 'group' | 'query';

/** On which resources of a kind somebody has a permission: on all, or on those with these links. */
export type Reach = 'all' | ReadonlySet<string>;

const NOWHERE: Reach = new Set();

/** The names of the resources that a reach is limited to, by name; undefined where it has no limit. */
export function namesWithin(reach: Reach): readonly string[] | undefined {
  return reach === 'all' ? undefined : [...reach].flatMap((link) => parseLink(link)?.ref ?? []).sort();
}

/** A binding of a policy, as it holds for one principal. */
export interface Grant {
  readonly principalLink: string;
  readonly policyLink: string;
  readonly via: Via;
  /** What they imply included. */
  readonly grantedPermissions: readonly PermissionName[];
}

/** Who has the permission on a resource, and why. */
export interface PermissionReport {
  readonly name: PermissionName;
  readonly description: string;
  readonly bindings: readonly Grant[];
}

/** What a policy gives to one of its principals. */
export interface PolicyBinding {
  readonly policy: PolicyState;
  readonly permissions: readonly string[];
}

/** To whom a policy gives a permission on which users. */
interface GivenOnUsers {
  readonly targets: Reach;
  /** Links of users, groups and service accounts; and those of groups alone. */
  readonly principals: ReadonlySet<string>;
  readonly groups: readonly string[];
}

/** What a report reads, as it was when the report began. */
interface Reported {
  /** By their links. */
  readonly groups: ReadonlyMap<string, GroupState>;
  readonly namedQueryGroups: readonly GroupState[];
}

/** A query may have many terms. */
const MATCHES_A_STEP = 32;
const GRANTS_A_STEP = 1_000;

interface Member {
  readonly link: string;
  readonly via: 'group' | 'query';
}

/**
 * What anyone may do in an organization, by its policies and groups at one state. Decides requests and makes access
 * reports: the same rules, read from both ends. What was asked before is a look-up in a map.
 */
export class AccessRules {
  private readonly bindings = new Map<string, readonly PolicyBinding[]>();
  /** By principal: itself and the groups that it belongs to. */
  private readonly names = new Map<string, ReadonlySet<string>>();
  private readonly reaches = new Map<string, Reach>();
  private readonly members = new Map<GroupState, ReadonlySet<string>>();
  private readonly onUsers = new Map<PermissionName, readonly GivenOnUsers[]>();
  /** By the group's name: who matches its query. */
  private matched: ReadonlyMap<string, readonly string[]> | undefined;
  private knownPolicies: readonly PolicyState[] | undefined;
  private knownGroups: ReadonlyMap<string, GroupState> | undefined;
  private knownQueryGroups: readonly GroupState[] | undefined;

  /** Costs nothing: every change of a policy or a group makes new rules, and most requests ask about few of either. */
  constructor(
    private readonly read: Read,
    private readonly org: string,
  ) {}

  /** In the order of their names, which are ASCII. */
  private get policies(): readonly PolicyState[] {
    this.knownPolicies ??= [...this.read.all('policy', this.org)].sort((one, other) =>
      one.name < other.name ? -1 : 1,
    );
    return this.knownPolicies;
  }

  /** By their links. */
  private get groups(): ReadonlyMap<string, GroupState> {
    const all = () => this.read.all('group', this.org).map((group) => [this.linkOf(group), group] as const);
    this.knownGroups ??= new Map(all());
    return this.knownGroups;
  }

  /** Those that policies name: what the others match gives nothing. */
  private get namedQueryGroups(): readonly GroupState[] {
    this.knownQueryGroups ??= this.read
      .all('group', this.org)
      .filter((group) => group.memberQuery && this.bindingsOf(this.linkOf(group)).length > 0);
    return this.knownQueryGroups;
  }

  private linkOf({ name }: GroupState): string {
    return linkTo(this.org, 'group', name);
  }

  /** Where the principal has the permission on resources of the kind. */
  reach(principal: string, kind: TargetKind, permission: PermissionName): Reach {
    const key = `${permission} ${kind} ${principal}`;
    const known = this.reaches.get(key);
    if (known) return known;
    const found = this.findReach(this.namesOf(principal), kind, permission);
    this.reaches.set(key, found);
    return found;
  }

  private findReach(names: ReadonlySet<string>, kind: TargetKind, permission: PermissionName): Reach {
    const links = new Set<string>();
    for (const { policy, permissions } of this.bindingsOfAny(names)) {
      if (policy.targetKind !== kind && policy.targetKind !== '*') continue;
      if (!implied(kind, permissions).includes(permission)) continue;
      if (policy.target === 'all') return 'all';
      for (const link of policy.targetLinks ?? []) links.add(link);
    }
    return links.size > 0 ? links : NOWHERE;
  }

  /** What policies give under any of the names: looked up name by name, unless there are more names than policies. */
  private bindingsOfAny(names: ReadonlySet<string>): readonly PolicyBinding[] {
    if (names.size <= this.read.all('policy', this.org).length)
      return [...names].flatMap((name) => this.bindingsOf(name));
    return this.policies.flatMap((policy) =>
      policy.bindings
        .filter(({ principalLinks }) => principalLinks.some((link) => names.has(link)))
        .map(({ permissions }) => ({ policy, permissions })),
    );
  }

  /** What policies give to the user, group or service account of this link under its own name. */
  bindingsOf(link: string): readonly PolicyBinding[] {
    const known = this.bindings.get(link);
    if (known) return known;
    const found = this.read
      .naming('policy', link)
      .flatMap((policy) =>
        policy.bindings
          .filter(({ principalLinks }) => principalLinks.includes(link))
          .map(({ permissions }) => ({ policy, permissions })),
      );
    this.bindings.set(link, found);
    return found;
  }

  /** The names under which policies give the principal something: its own link, and those of its groups. */
  namesOf(principal: string): ReadonlySet<string> {
    const known = this.names.get(principal);
    if (known) return known;
    const groups = [...this.read.naming('group', principal), ...this.matchedBy(principal)];
    const found = new Set([principal, ...groups.map((group) => this.linkOf(group))]);
    this.names.set(principal, found);
    return found;
  }

  /** The groups that policies name and whose query the principal matches, linked or not. */
  matchedBy(principal: string): readonly GroupState[] {
    const user = this.userAt(principal);
    if (!user || this.namedQueryGroups.length === 0) return [];
    const candidate = this.candidateOf(user);
    return this.namedQueryGroups.filter(({ memberQuery }) => isMatched(memberQuery, candidate));
  }

  /** Whether the group links the user, or its query matches the user. */
  isMember(link: string, groupLink: string): boolean {
    const user = this.userAt(link);
    return user !== undefined && this.isIn(user, link, groupLink);
  }

  private userAt(link: string): UserState | undefined {
    const { kind, ref = '' } = parseLink(link) ?? {};
    return kind === 'user' ? this.read(userStream(this.org, ref)) : undefined;
  }

  /**
   * Whether the user has the permission on itself. It looks only into the groups that policies give that permission, not
   * into all that the user may match: cheap enough to ask of every user.
   */
  hasOnItself(user: UserState, permission: PermissionName): boolean {
    const self = linkTo(this.org, 'user', user.email);
    return this.givenOnUsers(permission).some(
      ({ targets, principals, groups }) =>
        (targets === 'all' || targets.has(self)) &&
        (principals.has(self) || groups.some((group) => this.isIn(user, self, group))),
    );
  }

  /** To whom policies give the permission on which users. */
  private givenOnUsers(permission: PermissionName): readonly GivenOnUsers[] {
    const known = this.onUsers.get(permission);
    if (known) return known;
    const found = this.policies.flatMap(({ targetKind, target, targetLinks, bindings }) => {
      const given = targetKind === 'user' || targetKind === '*' ? bindings : [];
      const links = given
        .filter(({ permissions }) => implied('user', permissions).includes(permission))
        .flatMap(({ principalLinks }) => principalLinks);
      const groups = links.filter((link) => this.groups.has(link));
      return links.length > 0 ? [{ targets: target ?? new Set(targetLinks), principals: new Set(links), groups }] : [];
    });
    this.onUsers.set(permission, found);
    return found;
  }

  private isIn(user: UserState, link: string, groupLink: string): boolean {
    const group = this.groups.get(groupLink);
    if (!group) return false;
    // Few groups have a query, and what it looks at takes longer to make than everything else here.
    return (
      this.links(group, link) ||
      (group.memberQuery !== undefined && isMatched(group.memberQuery, this.candidateOf(user)))
    );
  }

  /** What queries look at. */
  candidateOf(user: UserState): Candidate {
    const link = linkTo(this.org, 'user', user.email);
    return memberCandidate(this.org, viewOf('user', user, this.read), (name) => {
      const group = this.groups.get(linkTo(this.org, 'group', name));
      return group !== undefined && this.links(group, link);
    });
  }

  /** Whether the group has the link as a member, whatever its query matches. */
  links(group: GroupState, link: string): boolean {
    const known = this.members.get(group) ?? new Set(group.memberLinks);
    this.members.set(group, known);
    return known.has(link);
  }

  /**
   * Who may do what to the resource, and why: every permission of its kind, in the kind's order. Undefined for a report with
   * more than so many bindings. It takes long where many users match many queries, so it can stop between its steps.
   */
  *reportOn(kind: TargetKind, target: string, most: number): Steps<readonly PermissionReport[] | undefined> {
    const grants: Grant[] = [];
    // As they are when it begins: the fold may go on meanwhile.
    const { policies, groups, namedQueryGroups } = this;
    for (const policy of policies) {
      if (policy.targetKind !== '*' && policy.targetKind !== kind) continue;
      if (policy.target !== 'all' && !policy.targetLinks?.includes(target)) continue;
      for (const { permissions, principalLinks } of policy.bindings) {
        const policyLink = linkTo(this.org, 'policy', policy.name);
        const given = { policyLink, grantedPermissions: implied(kind, permissions) };
        for (const grant of yield* this.grantsOf(principalLinks, { groups, namedQueryGroups }, given))
          grants.push(grant);
        if (grants.length > most) return undefined;
        yield;
      }
    }
    const report: PermissionReport[] = [];
    for (const { name, description } of permissionsOn(kind)) {
      const bindings = grants.filter(({ grantedPermissions }) => grantedPermissions.includes(name));
      report.push({ name, description, bindings });
      yield;
    }
    return report;
  }

  /** Who belongs to several groups of a binding has it from each of them in the same way. */
  private *grantsOf(
    links: readonly string[],
    { groups, namedQueryGroups }: Reported,
    given: Pick<Grant, 'policyLink' | 'grantedPermissions'>,
  ): Steps<Iterable<Grant>> {
    const grants = new Map<string, Grant>();
    for (const one of links) {
      const group = groups.get(one);
      const principals = group
        ? yield* this.membersOf(group, namedQueryGroups)
        : [{ link: one, via: 'direct' as const }];
      for (const [at, { link, via }] of principals.entries()) {
        grants.set(`${via} ${link}`, { principalLink: link, via, ...given });
        if (at % GRANTS_A_STEP === 0) yield;
      }
    }
    return grants.values();
  }

  /** Everybody who belongs to the group, and how. Who is linked and matches too counts as linked. */
  private *membersOf(group: GroupState, queryGroups: readonly GroupState[]): Steps<readonly Member[]> {
    this.matched ??= yield* this.findMatched(queryGroups);
    const linked = new Set(group.memberLinks);
    const matched = (this.matched.get(group.name) ?? []).filter((link) => !linked.has(link));
    return [
      ...[...linked].map((link) => ({ link, via: 'group' as const })),
      ...matched.map((link) => ({ link, via: 'query' as const })),
    ];
  }

  /** Of the users as they are when it begins. */
  private *findMatched(queryGroups: readonly GroupState[]): Steps<ReadonlyMap<string, readonly string[]>> {
    const found = new Map(queryGroups.map(({ name }) => [name, [] as string[]]));
    for (const user of found.size > 0 ? [...this.read.all('user', this.org)] : []) {
      const candidate = this.candidateOf(user);
      const link = linkTo(this.org, 'user', user.email);
      for (const [at, group] of queryGroups.entries()) {
        if (isMatched(group.memberQuery, candidate)) found.get(group.name)?.push(link);
        if (at % MATCHES_A_STEP === 0) yield;
      }
    }
    return found;
  }
}

function isMatched(query: GroupState['memberQuery'], candidate: Candidate): boolean {
  return query !== undefined && matches(query.spec, candidate);
}
