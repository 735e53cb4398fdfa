import type { ControlEvent } from '../../src/model/control-events.js';
import { type CreateOrg, decideCreateOrg } from '../../src/model/org.js';
import { AT, given } from './decider.js';
import { stateAfter } from './past.js';

const command: CreateOrg = {
  name: 'acme',
  description: 'Acme, Inc.',
  tags: { tier: 'gold' },
  at: AT,
  keyHash: 'ab12',
  id: (n) => `id-${n}`,
  granter: null,
};

const first = { version: 1, created: AT, lastModified: AT };
const admin = '/org/acme/serviceaccount/admin';

/** The group and policy of this name, which every organization has from the beginning. */
function builtin(
  name: string,
  description: string,
  members: string[],
  permissions: string[],
  from: number,
): ControlEvent[] {
  const common = { org: 'acme', name, description, tags: {}, ...first, origin: 'builtin' } as const;
  const bindings = [{ permissions, principalLinks: [`/org/acme/group/${name}`] }];
  return [
    {
      type: 'group-created',
      stream: `group/acme/${name}`,
      auditId: `id-${from + 2}`,
      data: { id: `id-${from}`, ...common, memberLinks: members },
    },
    {
      type: 'policy-created',
      stream: `policy/acme/${name}`,
      auditId: `id-${from + 3}`,
      data: { id: `id-${from + 1}`, ...common, targetKind: '*', target: 'all', bindings },
    },
  ];
}

const created: readonly ControlEvent[] = [
  {
    type: 'org-created',
    stream: 'org/acme',
    auditId: 'id-3',
    data: { id: 'id-0', name: 'acme', description: 'Acme, Inc.', tags: { tier: 'gold' }, ...first },
  },
  {
    type: 'serviceaccount-created',
    stream: 'serviceaccount/acme/admin',
    auditId: 'id-4',
    data: { id: 'id-1', org: 'acme', name: 'admin', description: 'admin', tags: {}, ...first, origin: 'builtin' },
  },
  {
    type: 'key-issued',
    stream: 'key/ab12',
    auditId: 'id-5',
    data: { id: 'id-2', org: 'acme', principal: admin, description: 'first key', issued: AT },
  },
  ...builtin('superusers', 'May do everything', [admin], ['manage'], 6),
  ...builtin('viewers', 'May see everything', [], ['view', 'readAudit'], 10),
  { type: 'authz-changed', stream: 'authz/acme' },
];

/** Every stream of a new organization, none of which there may be. */
const absent = (name: string, keyHash: string) => ({
  [`org/${name}`]: 0,
  [`serviceaccount/${name}/admin`]: 0,
  [`key/${keyHash}`]: 0,
  [`group/${name}/superusers`]: 0,
  [`policy/${name}/superusers`]: 0,
  [`group/${name}/viewers`]: 0,
  [`policy/${name}/viewers`]: 0,
  [`authz/${name}`]: 0,
});

describe('creating an organization', () => {
  it('makes the organization, its account admin, the first key, and the built-in groups and policies, in one record', () => {
    given()
      .when((read) => decideCreateOrg(read, command))
      .then(...created);
  });

  it('rests on the name being free and on every stream it writes', () => {
    given()
      .when((read) => decideCreateOrg(read, command))
      .thenRestsOn(absent('acme', 'ab12'));
  });

  it('is refused where the name is taken', () => {
    given(...created)
      .when((read) => decideCreateOrg(read, command))
      .thenRefused('already_exists');
  });

  it('is refused where a tag belongs to the service', () => {
    const tagged = { ...command, tags: { 'svc/owner': 'me' } };
    given()
      .when((read) => decideCreateOrg(read, tagged))
      .thenRefused('builtin_tag');
  });

  it('does not mind another organization', () => {
    const other = { ...command, name: 'globex', keyHash: 'cd34' };
    given(...created)
      .when((read) => decideCreateOrg(read, other))
      .thenRestsOn(absent('globex', 'cd34'));
  });

  it('decides the same every time it is asked on the same state', () => {
    const decide = () => decideCreateOrg(stateAfter([]), command);
    expect(decide()).toEqual(decide());
  });
});
