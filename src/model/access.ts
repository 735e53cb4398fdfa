import { linkTo, parseLink } from '../contract/links.js';
import type { Read } from './control-events.js';
import type { GroupState } from './group.js';
import { isLive } from './key-life.js';
import { memberCandidate } from './members.js';
import { implied, type PermissionName, permissionsOn, type TargetKind } from './permission.js';
import type { PolicyState } from './policy.js';
import { type Candidate, compareText, matches } from './query.js';
import { keyStream, serviceAccountStream, userStream } from './streams.js';
import type { UserState } from './user.js';
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

/** What a report is made in; a step is short. */
type ReportSteps<Result> = Generator<void, Result>;

/** A query may have many terms. */
const MATCHES_A_STEP = 32;

interface Member {
  readonly link: string;
  readonly via: 'group' | 'query';
}

/**
 * What anyone may do in an organization, by its policies and groups at one state. Decides requests and makes access
 * reports: the same rules, read from both ends. What was asked before is a look-up in a map.
 */
export class AccessRules {
  private readonly policies: readonly PolicyState[];
  /** By the links that they name as principals. */
  private readonly bindings = new Map<string, PolicyBinding[]>();
  private readonly groups = new Map<string, GroupState>();
  private readonly groupsByMember = new Map<string, GroupState[]>();
  private readonly queryGroups: readonly GroupState[];
  /** Those that policies name: what the others match gives nothing. */
  private readonly namedQueryGroups: readonly GroupState[];
  /** By principal: itself and the groups that it belongs to. */
  private readonly names = new Map<string, ReadonlySet<string>>();
  private readonly reaches = new Map<string, Reach>();
  /** By the group's name: who matches its query. */
  private matched: ReadonlyMap<string, readonly string[]> | undefined;

  constructor(
    private readonly read: Read,
    private readonly org: string,
  ) {
    this.policies = [...read.all('policy', org)].sort((one, other) => compareText(one.name, other.name));
    for (const policy of this.policies) {
      for (const { permissions, principalLinks } of policy.bindings) {
        for (const link of principalLinks) addTo(this.bindings, link, { policy, permissions });
      }
    }
    for (const group of read.all('group', org)) {
      this.groups.set(linkTo(org, 'group', group.name), group);
      for (const link of group.memberLinks) addTo(this.groupsByMember, link, group);
    }
    this.queryGroups = [...this.groups.values()].filter(({ memberQuery }) => memberQuery);
    this.namedQueryGroups = this.queryGroups.filter(({ name }) => this.bindings.has(linkTo(org, 'group', name)));
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
    for (const { policy, permissions } of [...names].flatMap((name) => this.bindingsOf(name))) {
      if (policy.targetKind !== kind && policy.targetKind !== '*') continue;
      if (!implied(kind, permissions).includes(permission)) continue;
      if (policy.target === 'all') return 'all';
      for (const link of policy.targetLinks ?? []) links.add(link);
    }
    return links.size > 0 ? links : NOWHERE;
  }

  /** What policies give to the user, group or service account of this link under its own name. */
  bindingsOf(link: string): readonly PolicyBinding[] {
    return this.bindings.get(link) ?? [];
  }

  /** The names under which policies give the principal something: its own link, and those of its groups. */
  namesOf(principal: string): ReadonlySet<string> {
    const known = this.names.get(principal);
    if (known) return known;
    const linked = this.groupsByMember.get(principal) ?? [];
    const user = this.namedQueryGroups.length > 0 ? this.userAt(principal) : undefined;
    const candidate = user && this.candidateOf(user);
    const matched = candidate ? this.namedQueryGroups.filter((group) => isMatched(group, candidate)) : [];
    const found = new Set([principal, ...[...linked, ...matched].map(({ name }) => linkTo(this.org, 'group', name))]);
    this.names.set(principal, found);
    return found;
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
    return this.policies.some(({ targetKind, target, targetLinks, bindings }) => {
      if (targetKind !== 'user' && targetKind !== '*') return false;
      if (target !== 'all' && !targetLinks?.includes(self)) return false;
      return bindings.some(
        ({ permissions, principalLinks }) =>
          implied('user', permissions).includes(permission) &&
          principalLinks.some((link) => link === self || this.isIn(user, self, link)),
      );
    });
  }

  private isIn(user: UserState, link: string, groupLink: string): boolean {
    const group = this.groups.get(groupLink);
    return group !== undefined && (group.memberLinks.includes(link) || isMatched(group, this.candidateOf(user)));
  }

  /** What queries look at. */
  candidateOf(user: UserState): Candidate {
    const groups = this.groupsByMember.get(linkTo(this.org, 'user', user.email)) ?? [];
    return memberCandidate(this.org, viewOf('user', user, this.read), (group) =>
      groups.some(({ name }) => name === group),
    );
  }

  /**
   * Who may do what to the resource, and why: every permission of its kind, in the kind's order. Undefined for a report with
   * more than so many bindings. It takes long where many users match many queries, so it can stop between its steps.
   */
  *reportOn(kind: TargetKind, target: string, most: number): ReportSteps<readonly PermissionReport[] | undefined> {
    const grants: Grant[] = [];
    for (const policy of this.policies) {
      if (policy.targetKind !== '*' && policy.targetKind !== kind) continue;
      if (policy.target !== 'all' && !policy.targetLinks?.includes(target)) continue;
      for (const { permissions, principalLinks } of policy.bindings) {
        const policyLink = linkTo(this.org, 'policy', policy.name);
        const given = { policyLink, grantedPermissions: implied(kind, permissions) };
        for (const grant of yield* this.grantsOf(principalLinks, given)) grants.push(grant);
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
    given: Pick<Grant, 'policyLink' | 'grantedPermissions'>,
  ): ReportSteps<Iterable<Grant>> {
    const grants = new Map<string, Grant>();
    for (const one of links) {
      const group = this.groups.get(one);
      const principals = group ? yield* this.membersOf(group) : [{ link: one, via: 'direct' as const }];
      for (const { link, via } of principals) grants.set(`${via} ${link}`, { principalLink: link, via, ...given });
      yield;
    }
    return grants.values();
  }

  /** Everybody who belongs to the group, and how. Who is linked and matches too counts as linked. */
  private *membersOf(group: GroupState): ReportSteps<readonly Member[]> {
    this.matched ??= yield* this.findMatched();
    const linked = new Set(group.memberLinks);
    const matched = (this.matched.get(group.name) ?? []).filter((link) => !linked.has(link));
    return [
      ...[...linked].map((link) => ({ link, via: 'group' as const })),
      ...matched.map((link) => ({ link, via: 'query' as const })),
    ];
  }

  /** The users as they are when it begins: the fold may go on meanwhile. */
  private *findMatched(): ReportSteps<ReadonlyMap<string, readonly string[]>> {
    const found = new Map(this.namedQueryGroups.map(({ name }) => [name, [] as string[]]));
    for (const user of found.size > 0 ? [...this.read.all('user', this.org)] : []) {
      const candidate = this.candidateOf(user);
      const link = linkTo(this.org, 'user', user.email);
      for (const [at, group] of this.namedQueryGroups.entries()) {
        if (isMatched(group, candidate)) found.get(group.name)?.push(link);
        if (at % MATCHES_A_STEP === 0) yield;
      }
    }
    return found;
  }
}

function isMatched({ memberQuery }: GroupState, candidate: Candidate): boolean {
  return memberQuery !== undefined && matches(memberQuery.spec, candidate);
}

function addTo<Value>(lists: Map<string, Value[]>, key: string, value: Value): void {
  const known = lists.get(key);
  if (known) known.push(value);
  else lists.set(key, [value]);
}
