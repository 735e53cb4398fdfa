import { linkTo } from '../../src/contract/links.js';
import { emptyFold, foldRecord, readFold } from '../../src/control/fold.js';
import { AccessRules, namesWithin, type PermissionReport, principalOf } from '../../src/model/access.js';
import type { ControlEvent, GroupDocument, GroupState, PolicyDocument, Read } from '../../src/model/control-events.js';
import type { MemberQuery } from '../../src/model/member-query.js';
import {
  implied,
  type PermissionName,
  permissionsOn,
  TARGET_KINDS,
  type TargetKind,
} from '../../src/model/permission.js';
import { groupStream } from '../../src/model/streams.js';
import { decideCreateGroup, decideCreatePolicy, decideEditUser } from '../support/decisions.js';
import fc from '../support/fast-check.js';
import { at, recordOf } from './decider.js';
import { account, key, ORG, occasion, org, past, stateAfter, user } from './past.js';

const ROBOT = '/org/acme/serviceaccount/robot';
const ANN = '/org/acme/user/ann@example.com';
const BEN = '/org/acme/user/ben@example.com';
const CREW = '/org/acme/group/crew';

type Decision = (read: Read) => readonly ControlEvent[];
type Document = Pick<PolicyDocument, 'targetKind'> & Partial<PolicyDocument>;

function policy(name: string, document: Document): Decision {
  const whole = { description: name, tags: {}, bindings: [], ...document };
  return (read) => decideCreatePolicy(read, { ...occasion(`policy ${name}`), org: ORG, name, document: whole });
}

function group(name: string, more: Partial<GroupDocument>): Decision {
  const document = { description: name, tags: {}, memberLinks: [], ...more };
  return (read) => decideCreateGroup(read, { ...occasion(`group ${name}`), org: ORG, name, document });
}

/** A query that nobody could set today on a group that policies name. */
function recordedBefore(name: string, memberQuery: MemberQuery): Decision {
  return (read) => {
    const stream = groupStream(ORG, name);
    const data = { ...(read(stream) as GroupState), memberQuery };
    return [{ type: 'group-edited', stream, auditId: `before ${name}`, data }];
  };
}

const people = [org, account('robot'), ...user('ann@example.com'), ...user('ben@example.com')];
/** The whole report, made without a pause. */
function reportOn(rules: AccessRules, kind: TargetKind, target: string): readonly PermissionReport[] {
  const steps = rules.reportOn(kind, target, 1_000);
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value ?? [];
}

const rulesAfter = (events: readonly ControlEvent[]) => new AccessRules(stateAfter(events), ORG);
const rulesOf = (...decisions: readonly Decision[]) => rulesAfter(past(...people, ...decisions));
const grant = (permissions: string[], ...principalLinks: string[]) => ({ permissions, principalLinks });
const names = (kind: TargetKind) => permissionsOn(kind).map(({ name }) => name);

describe('the permissions of a kind', () => {
  it('are those that are promised, in this order', () => {
    expect(Object.fromEntries(TARGET_KINDS.map((kind) => [kind, names(kind)]))).toEqual({
      user: ['view', 'edit', 'delete', 'invite', 'manage'],
      group: ['view', 'create', 'edit', 'delete', 'manage'],
      serviceaccount: ['view', 'create', 'edit', 'delete', 'addKey', 'manage'],
      policy: ['view', 'create', 'edit', 'delete', 'manage'],
      domain: ['view', 'create', 'edit', 'delete', 'manage'],
      auditctx: ['readAudit', 'writeAudit', 'manage'],
    });
  });

  it.each(TARGET_KINDS)('of %s imply: manage all, every other but view view', (kind) => {
    for (const { name, implies } of permissionsOn(kind)) {
      const others = names(kind).filter((other) => other !== name);
      const view = others.filter((other) => other === 'view');
      expect([name, implies]).toEqual([name, name === 'manage' ? others : view]);
    }
  });

  it('grant together what each implies', () => {
    expect(implied('group', ['edit', 'create'])).toEqual(['view', 'create', 'edit']);
    expect(implied('auditctx', ['writeAudit'])).toEqual(['writeAudit']);
    expect(implied('auditctx', ['view', 'edit'])).toEqual([]);
    expect(implied('user', [])).toEqual([]);
  });
});

describe('who may do what', () => {
  it('is nothing, without a policy', () => {
    const rules = rulesOf();
    for (const kind of TARGET_KINDS)
      for (const name of names(kind)) expect(rules.reach(ROBOT, kind, name)).toEqual(new Set());
  });

  it('is everything for a superuser, and all there is to see for a viewer', () => {
    const rules = rulesOf((read) => {
      const viewers = read('group/acme/viewers');
      if (!viewers) throw new Error('every organization has viewers');
      const data = { ...viewers, memberLinks: [ROBOT] };
      return [{ type: 'group-edited', stream: 'group/acme/viewers', auditId: 'a', data }];
    });
    for (const kind of TARGET_KINDS) {
      for (const name of names(kind)) {
        expect(rules.reach('/org/acme/serviceaccount/admin', kind, name)).toBe('all');
        const sees = name === 'view' || name === 'readAudit';
        expect([kind, name, rules.reach(ROBOT, kind, name)]).toEqual([kind, name, sees ? 'all' : new Set()]);
      }
    }
  });

  it('is what a policy grants on all resources of its kind, and on no other kind', () => {
    const rules = rulesOf(
      policy('editors', { targetKind: 'group', target: 'all', bindings: [grant(['edit'], ROBOT)] }),
    );
    expect(rules.reach(ROBOT, 'group', 'edit')).toBe('all');
    expect(rules.reach(ROBOT, 'group', 'view')).toBe('all');
    expect(rules.reach(ROBOT, 'group', 'delete')).toEqual(new Set());
    expect(rules.reach(ROBOT, 'policy', 'view')).toEqual(new Set());
    expect(rules.reach(ANN, 'group', 'view')).toEqual(new Set());
  });

  it('adds up over policies, bindings and links', () => {
    const rules = rulesOf(
      policy('one', {
        targetKind: 'user',
        targetLinks: [ANN],
        bindings: [grant(['view'], BEN), grant(['edit'], ROBOT)],
      }),
      policy('two', { targetKind: 'user', targetLinks: [BEN], bindings: [grant(['delete'], ROBOT)] }),
    );
    expect(rules.reach(ROBOT, 'user', 'view')).toEqual(new Set([ANN, BEN]));
    expect(rules.reach(ROBOT, 'user', 'edit')).toEqual(new Set([ANN]));
    expect(rules.reach(ROBOT, 'user', 'delete')).toEqual(new Set([BEN]));
    expect(rules.reach(ROBOT, 'user', 'manage')).toEqual(new Set());
    expect(rules.reach(BEN, 'user', 'view')).toEqual(new Set([ANN]));
  });

  it('comes by groups: by link, and by query', () => {
    const matching = {
      kind: 'user',
      fetch: 'items',
      spec: { terms: [{ property: 'email', op: '~', value: 'BEN@' }] },
    } as const;
    const rules = rulesOf(
      group('crew', { memberLinks: [ROBOT], memberQuery: matching }),
      policy('crews', { targetKind: 'domain', target: 'all', bindings: [grant(['create'], CREW)] }),
    );
    expect([ROBOT, BEN, ANN].map((link) => rules.reach(link, 'domain', 'create'))).toEqual(['all', 'all', new Set()]);
  });

  it('matches only public fields of a user: internal ones match no query', () => {
    const query = (property: string) =>
      ({ kind: 'user', fetch: 'items', spec: { terms: [{ property, op: 'exists' }] } }) as const;
    const rules = rulesOf(
      group('crew', {}),
      group('kinds', {}),
      policy('one', { targetKind: 'domain', target: 'all', bindings: [grant(['view'], CREW)] }),
      policy('two', { targetKind: 'group', target: 'all', bindings: [grant(['view'], '/org/acme/group/kinds')] }),
      recordedBefore('crew', query('org')),
      recordedBefore('kinds', query('kind')),
    );
    expect([rules.reach(ANN, 'domain', 'view'), rules.reach(ANN, 'group', 'view')]).toEqual([new Set(), 'all']);
  });

  it('follows a relation of a query to the groups that link the user, by name or link', () => {
    const related = (value: string) =>
      ({ kind: 'user', fetch: 'items', spec: { terms: [{ rel: 'group', value }] } }) as const;
    const rules = rulesOf(
      group('crew', { memberLinks: [ANN] }),
      group('friends', { memberQuery: related('crew') }),
      group('others', { memberQuery: related(CREW) }),
      group('strangers', { memberQuery: related('friends') }),
      ...['friends', 'others', 'strangers'].map((name, index) =>
        policy(`p${index}`, {
          targetKind: (['user', 'group', 'domain'] as const)[index] ?? 'user',
          target: 'all',
          bindings: [grant(['view'], `/org/acme/group/${name}`)],
        }),
      ),
    );
    expect((['user', 'group', 'domain'] as const).map((kind) => rules.reach(ANN, kind, 'view'))).toEqual([
      'all',
      'all',
      new Set(),
    ]);
  });

  it('changes with the user, where a query says so', () => {
    const tagged = { kind: 'user', fetch: 'items', spec: { terms: [{ tag: 'team', value: 'x' }] } } as const;
    const events = past(
      ...people,
      group('crew', { memberQuery: tagged }),
      policy('crews', { targetKind: 'domain', target: 'all', bindings: [grant(['view'], CREW)] }),
    );
    const edit = { ...occasion('edit'), org: ORG, ref: 'ann@example.com' };
    const tag = decideEditUser(stateAfter(events), { ...edit, revise: (one) => ({ ...one, tags: { team: 'x' } }) });
    expect(rulesAfter(events).reach(ANN, 'domain', 'view')).toEqual(new Set());
    expect(rulesAfter([...events, ...tag]).reach(ANN, 'domain', 'view')).toBe('all');
  });
});

describe('the names within a reach', () => {
  it('are those of its links, sorted; all has no limit', () => {
    expect(namesWithin('all')).toBeUndefined();
    expect(namesWithin(new Set())).toEqual([]);
    const links = ['shop', 'a.b-c_D', 'Audit'].map((name) => linkTo(ORG, 'auditctx', name));
    expect(namesWithin(new Set(links))).toEqual(['Audit', 'a.b-c_D', 'shop']);
  });
});

describe('the principal of a key', () => {
  const events = past(...people, key('robot', 'robots'));
  const at = Date.parse('2026-03-01T00:00:00.000Z');

  it('is the service account or user that it speaks for', () => {
    const read = stateAfter(events);
    expect(principalOf(read, 'robots', at)).toMatchObject({ org: ORG, link: ROBOT, name: 'robot', keyHash: 'robots' });
    const ann = { org: ORG, link: ANN, name: 'Name of ann@example.com', email: 'ann@example.com' };
    expect(principalOf(read, 'hash of ann@example.com', at)).toMatchObject(ann);
    expect(principalOf(read, 'unknown', at)).toBeUndefined();
  });

  it('is nobody from the instant on at which the key expires', () => {
    const read = stateAfter(events);
    const expiring = Object.assign((stream: string) => {
      const state = read(stream as 'key/x');
      return stream === 'key/robots' && state ? { ...state, expires: new Date(at).toISOString() } : state;
    }, read) as typeof read;
    expect(principalOf(expiring, 'robots', at - 1)).toBeDefined();
    expect(principalOf(expiring, 'robots', at)).toBeUndefined();
  });
});

describe('an access report', () => {
  const report = (rules: AccessRules, kind: TargetKind, target: string) =>
    Object.fromEntries(reportOn(rules, kind, target).map(({ name, bindings }) => [name, bindings]));
  const superusers = {
    principalLink: '/org/acme/serviceaccount/admin',
    policyLink: '/org/acme/policy/superusers',
    via: 'group',
  };

  it('lists every permission of the kind with its description', () => {
    for (const kind of TARGET_KINDS) {
      const told = reportOn(rulesOf(), kind, linkTo(ORG, kind, 'x'));
      const expected = permissionsOn(kind).map(({ name, description }) => ({
        name,
        description,
        bindings: [{ ...superusers, grantedPermissions: names(kind) }],
      }));
      expect(told).toEqual(expected);
    }
  });

  it('shows the reason: named directly, member of a group, or matched by its query', () => {
    const matching = {
      kind: 'user',
      fetch: 'items',
      spec: { terms: [{ property: 'email', op: '~', value: '@' }] },
    } as const;
    const rules = rulesOf(
      group('crew', { memberLinks: [ROBOT, ANN], memberQuery: matching }),
      policy('crews', { targetKind: 'user', targetLinks: [BEN], bindings: [grant(['edit'], CREW, ROBOT)] }),
      policy('aliens', { targetKind: 'user', targetLinks: [ANN], bindings: [grant(['manage'], ROBOT)] }),
    );
    const why = (principalLink: string, via: string) => ({
      principalLink,
      policyLink: '/org/acme/policy/crews',
      via,
      grantedPermissions: ['view', 'edit'],
    });
    const { view, edit, delete: remove } = report(rules, 'user', BEN);
    const crew = [why(ROBOT, 'group'), why(ANN, 'group'), why(BEN, 'query'), why(ROBOT, 'direct')];
    const all = { ...superusers, grantedPermissions: names('user') };
    expect(view).toEqual([...crew, all]);
    expect(edit).toEqual([...crew, all]);
    expect(remove).toEqual([all]);
  });

  it('lists the same reason once, however many groups lead to it', () => {
    const rules = rulesOf(
      group('crew', { memberLinks: [ROBOT] }),
      group('band', { memberLinks: [ROBOT] }),
      policy('both', { targetKind: 'user', target: 'all', bindings: [grant(['view'], CREW, '/org/acme/group/band')] }),
    );
    const { view } = report(rules, 'user', BEN);
    expect(view?.map(({ principalLink }) => principalLink)).toEqual([ROBOT, superusers.principalLink]);
  });
});

/** The report is made in slices, and changes are folded in between. */
describe('an access report under way', () => {
  it('shows the policies, groups and users of the moment at which it began', () => {
    const matching = {
      kind: 'user',
      fetch: 'items',
      spec: { terms: [{ rel: 'group', value: 'linked' }] },
    } as const;
    const decisions = [
      group('linked', { memberLinks: [ANN] }),
      group('crew', { memberLinks: [ROBOT], memberQuery: matching }),
      policy('crews', { targetKind: 'user', target: 'all', bindings: [grant(['edit'], CREW)] }),
      policy('robots', { targetKind: 'user', target: 'all', bindings: [grant(['edit'], ROBOT)] }),
    ];
    const before = past(...people, ...decisions);
    const expected = reportOn(rulesAfter(before), 'user', BEN);
    const fold = emptyFold();
    foldRecord(fold, recordOf('before', before, {}), at(0));
    const read = readFold(fold);
    const steps = new AccessRules(read, ORG).reportOn('user', BEN, 1_000);
    steps.next();
    const after = ['linked', 'crew'].map((name): ControlEvent => {
      const stream = groupStream(ORG, name);
      return {
        type: 'group-edited',
        stream,
        auditId: name,
        data: { ...read(stream), memberLinks: [BEN] } as GroupState,
      };
    });
    foldRecord(fold, recordOf('after', after, {}), at(1));
    let step = steps.next();
    while (!step.done) step = steps.next();
    expect(step.value).toEqual(expected);
    expect(reportOn(new AccessRules(read, ORG), 'user', BEN)).not.toEqual(expected);
  });
});

/** Any policies over these principals and targets: what is decided and what is reported agree, and a plain reading agrees too. */
describe('decisions and reports, for any policies', () => {
  const GROUPS = ['g1', 'g2'].map((name) => `/org/acme/group/${name}`);
  const PRINCIPALS = [ROBOT, ANN, BEN];
  const kinds = fc.constantFrom(...TARGET_KINDS);
  const TARGETS: Readonly<Record<TargetKind, readonly string[]>> = {
    user: [ANN, BEN],
    group: GROUPS,
    serviceaccount: [ROBOT, '/org/acme/serviceaccount/admin'],
    policy: ['/org/acme/policy/superusers', '/org/acme/policy/viewers'],
    domain: [],
    auditctx: ['/org/acme/auditctx/a', '/org/acme/auditctx/b'],
  };
  const document = kinds.chain((targetKind) => {
    const targets = fc.subarray([...TARGETS[targetKind]]);
    const binding = fc.record({
      permissions: fc.subarray<string>(names(targetKind)),
      principalLinks: fc.subarray([...PRINCIPALS, ...GROUPS]),
    });
    const bindings = fc.array(binding, { maxLength: 3 });
    return fc.oneof(
      fc.record({ targetKind: fc.constant(targetKind), target: fc.constant('all' as const), bindings }),
      fc.record({ targetKind: fc.constant(targetKind), targetLinks: targets, bindings }),
    );
  });
  const members = fc.record({ links: fc.subarray(PRINCIPALS), query: fc.constantFrom(undefined, 'ann', 'ben', '@') });
  const memberQuery = (value: string) =>
    ({ kind: 'user', fetch: 'items', spec: { terms: [{ property: 'email', op: '~', value }] } }) as const;

  /** The rules in their simplest form. */
  function holds(documents: readonly Document[], groups: readonly { links: string[]; query: string | undefined }[]) {
    const belongs = (principal: string, link: string) => {
      const found = groups[GROUPS.indexOf(link)];
      if (!found) return principal === link;
      const matched = found.query !== undefined && principal.includes('/user/') && principal.includes(found.query);
      return found.links.includes(principal) || matched;
    };
    return (principal: string, kind: TargetKind, permission: PermissionName, target: string) =>
      documents.some(
        ({ targetKind, target: all, targetLinks = [], bindings = [] }) =>
          targetKind === kind &&
          (all === 'all' || targetLinks.includes(target)) &&
          bindings.some(
            ({ permissions, principalLinks }) =>
              principalLinks.some((link) => belongs(principal, link)) &&
              (permissions.includes(permission) ||
                permissions.includes('manage') ||
                (permission === 'view' && permissions.length > 0)),
          ),
      );
  }

  it('agree', () => {
    fc.assert(
      fc.property(fc.array(document, { maxLength: 6 }), fc.tuple(members, members), (documents, groups) => {
        const rules = rulesOf(
          ...groups.map(({ links, query }, index) =>
            group(`g${index + 1}`, {
              memberLinks: links,
              ...(query !== undefined && { memberQuery: memberQuery(query) }),
            }),
          ),
          ...documents.map((one, index) => policy(`p${index}`, one)),
        );
        const expected = holds(documents, groups);
        for (const kind of TARGET_KINDS) {
          for (const target of [...TARGETS[kind], linkTo(ORG, kind, 'elsewhere')]) {
            for (const { name, bindings } of reportOn(rules, kind, target)) {
              for (const principal of PRINCIPALS) {
                const reach = rules.reach(principal, kind, name);
                const decided = reach === 'all' || reach.has(target);
                const reported = bindings.some(({ principalLink }) => principalLink === principal);
                const what = `${principal} ${kind} ${name} ${target}`;
                const plain = expected(principal, kind, name, target);
                expect([what, decided, reported]).toEqual([what, plain, plain]);
              }
            }
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
