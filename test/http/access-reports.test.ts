import { permissionsOn, TARGET_KINDS, type TargetKind } from '../../src/model/permission.js';
import { Api, newOrg, Org, pointers, type Refusal } from '../support/api.js';
import { decideDeletePolicy, decideDeleteUser, decideEditPolicy } from '../support/decisions.js';
import { undocumented } from '../support/documented.js';
import { Resources } from '../support/resources.js';
import { Seed } from '../support/seed.js';
import { startService, type TestService } from '../support/service.js';

interface Grant {
  readonly principalLink: string;
  readonly policyLink: string;
  readonly via: string;
  readonly grantedPermissions: readonly string[];
}

interface Report {
  readonly kind: string;
  readonly target: string;
  readonly at?: string;
  readonly permissions: readonly {
    readonly name: string;
    readonly description: string;
    readonly bindings: readonly Grant[];
  }[];
}

const link = (kind: string, ref: string) => `/org/acme/${kind}/${ref}`;
const ADMIN = link('serviceaccount', 'admin');
const ROBOT = link('serviceaccount', 'robot');
const ANN = link('user', 'ann@example.com');
const BEN = link('user', 'ben@example.com');
const CREW = link('group', 'crew');

const HOUR = 3_600_000;
const START = Date.now() - 100 * HOUR;

/** What comes first in each stage, but for the fifth, which is void: what it is on, and what happens to it. */
const STAGES: readonly (readonly [string, string] | undefined)[] = [
  ['acme', 'create'],
  ['ann@example.com', 'create'],
  ['crew', 'create'],
  ['crews', 'create'],
  ['crews', 'edit'],
  undefined,
  ['crews', 'delete'],
  ['ben@example.com', 'delete'],
];

let service: TestService;
let org: Org;
let times: readonly number[];
let robot: Api;
let benId: string;
let annId: string;

/** When the log took a stage, and so many milliseconds. */
const at = (stage: number, ms = 0) => new Date((times[stage] ?? Number.NaN) + ms).toISOString();

/**
 * Stage 0: the organization and `robot`. 1: Ann and Ben. 2: `crew`, of the robot and whoever is in team x, which Ann is. 3:
 * the crew may edit Ben. 4: it may delete him, too. 5: a change that is void. 6: it may not any more. 7: Ben is deleted.
 */
beforeAll(async () => {
  const seed = new Seed(START);
  const key = seed.org('acme');
  seed.org('globex');
  seed.account('acme', 'robot');
  const robotKey = seed.key(ROBOT);
  seed.now = START + HOUR;
  seed.user('acme', 'ann@example.com', { tags: { team: 'x' } });
  seed.user('acme', 'ben@example.com');
  annId = seed.read('user/acme/ann@example.com')?.id ?? '';
  benId = seed.read('user/acme/ben@example.com')?.id ?? '';
  seed.now = START + 2 * HOUR;
  const spec = { terms: [{ tag: 'team', value: 'x' }] };
  seed.group('acme', 'crew', { memberLinks: [ROBOT], memberQuery: { kind: 'user', fetch: 'items', spec } });
  seed.now = START + 3 * HOUR;
  const rules = (permissions: string[]) => [{ permissions, principalLinks: [CREW] }];
  seed.policy('acme', 'crews', { targetKind: 'user', targetLinks: [BEN], bindings: rules(['edit']) });
  seed.now = START + 4 * HOUR;
  seed.record((read, occasion) =>
    decideEditPolicy(read, {
      ...occasion,
      org: 'acme',
      name: 'crews',
      revise: (document) => ({ ...document, bindings: rules(['edit', 'delete']) }),
    }),
  );
  seed.now = START + 5 * HOUR;
  seed.void('acme', (read) =>
    decideDeletePolicy(read, { at: '', id: String, granter: null, org: 'acme', name: 'crews' }),
  );
  seed.now = START + 6 * HOUR;
  seed.record((read, occasion) => decideDeletePolicy(read, { ...occasion, org: 'acme', name: 'crews' }));
  seed.now = START + 7 * HOUR;
  seed.record((read, occasion) => decideDeleteUser(read, { ...occasion, org: 'acme', ref: 'ben@example.com' }));
  service = await startService({ seed });
  org = new Org(service.url, 'acme', key);
  const { items } = (await org.list({ order: 'received', pageSize: '1000' })).body;
  times = STAGES.map((first) => {
    const found =
      first && items.find(({ resource, action }) => resource.name === first[0] && action?.type === first[1]);
    return found ? Date.parse(found.receivedTime) : Number.NaN;
  });
  robot = new Api(service.url, robotKey);
});

afterAll(() => service.remove());

const path = (kind: string, ref: string, query = '') => `${link(kind, ref)}/-accessreport${query}`;
const report = (kind: string, ref: string, time?: string) =>
  org.api.get<Report & Refusal>(path(kind, ref, time === undefined ? '' : `?at=${time}`));

/** Who has which permission, and how, without the superusers. */
function shown({ permissions }: Report): Record<string, string[]> {
  return Object.fromEntries(
    permissions.map(({ name, bindings }) => [
      name,
      bindings.filter(({ principalLink }) => principalLink !== ADMIN).map((one) => `${one.via} ${one.principalLink}`),
    ]),
  );
}

const NOBODY = { view: [], edit: [], delete: [], invite: [], manage: [] };

describe('the access report', () => {
  const refs: Readonly<Record<TargetKind, string>> = {
    user: 'ann@example.com',
    group: 'crew',
    serviceaccount: 'robot',
    policy: 'viewers',
    domain: 'shop.example.com',
    auditctx: 'app',
  };

  test.each(TARGET_KINDS)('of a %s shows who has each permission, and why', async (kind) => {
    if (kind === 'domain') await new Resources(org, 'domain').create({ name: refs.domain, spec: {} });
    const of = kind === 'auditctx' ? `${org.audit}/auditctx/app/-accessreport` : path(kind, refs[kind]);
    const { status, body } = await org.api.get<Report>(of);
    const names = permissionsOn(kind).map(({ name }) => name);
    const grant = {
      principalLink: ADMIN,
      policyLink: link('policy', 'superusers'),
      via: 'group',
      grantedPermissions: names,
    };
    expect(status).toBe(200);
    expect(body).toEqual({
      kind: 'accessreport',
      target: link(kind, refs[kind]),
      permissions: permissionsOn(kind).map(({ name, description }) => ({ name, description, bindings: [grant] })),
    });
    expect(undocumented('AccessReport', body)).toEqual([]);
  });

  test('of a user is found by the e-mail address in any case, and by the id', async () => {
    const answers = await Promise.all(['ANN@Example.com', annId].map((ref) => report('user', ref)));
    expect(answers.map(({ body }) => body.target)).toEqual([ANN, ANN]);
  });

  test('shows a change at once, and agrees with what is answered', async () => {
    const policies = new Resources(org, 'policy');
    const edits = async () => {
      const { status } = await robot.send('PATCH', link('group', 'crew'), '{}', { 'content-type': 'application/json' });
      const { edit } = shown((await report('group', 'crew')).body);
      return [status, edit];
    };
    expect(await edits()).toEqual([403, []]);
    const bindings = [{ permissions: ['edit'], principalLinks: [ROBOT, CREW] }];
    await policies.create({ name: 'editors', targetKind: 'group', targetLinks: [CREW], bindings });
    expect(await edits()).toEqual([200, [`direct ${ROBOT}`, `group ${ROBOT}`, `query ${ANN}`]]);
    await policies.delete('editors');
    expect(await edits()).toEqual([403, []]);
  });

  test('of what is not there is not found', async () => {
    for (const [kind, ref] of Object.entries({ ...refs, user: 'none@example.com', auditctx: undefined })) {
      if (ref === undefined) continue;
      const { status, body } = await report(kind, kind === 'user' ? ref : `${ref}-none`);
      expect([kind, status, body.code]).toEqual([kind, 404, 'not_found']);
    }
    expect((await report('user', benId)).status).toBe(404);
    expect((await org.api.get(`${org.audit}/auditctx/.none/-accessreport`)).status).toBe(400);
  });

  test('needs the permission to view the resource, and shows others nothing', async () => {
    const robots = await robot.get<Refusal>(path('user', 'ann@example.com'));
    const others = await (await newOrg(service)).api.get<Refusal>(path('user', 'ann@example.com'));
    const none = await robot.get<Refusal>(path('user', 'none@example.com'));
    expect([robots.status, others.status, none.status]).toEqual([403, 403, 403]);
    const audit = `${org.audit}/auditctx/app/-accessreport`;
    expect((await robot.get(audit)).status).toBe(403);
  });
});

describe('the access report as of an instant', () => {
  const crew = [`group ${ROBOT}`, `query ${ANN}`];

  test.each([
    ['before the policy', 3, -1, NOBODY],
    ['from the policy on', 3, 0, { ...NOBODY, view: crew, edit: crew }],
    ['until it changes', 4, -1, { ...NOBODY, view: crew, edit: crew }],
    ['from the change on', 4, 0, { ...NOBODY, view: crew, edit: crew, delete: crew }],
    ['past a void change', 6, -1, { ...NOBODY, view: crew, edit: crew, delete: crew }],
    ['from its end on', 6, 0, NOBODY],
  ])('is what it was then: %s', async (_when, stage, ms, expected) => {
    const time = at(stage, ms);
    const { status, body } = await report('user', 'ben@example.com', time);
    expect([status, body.at, body.target]).toEqual([200, time, BEN]);
    expect(shown(body)).toEqual(expected);
    expect(undocumented('AccessReport', body)).toEqual([]);
  });

  test('takes any way to write it, and repeats it in one', async () => {
    const offset = at(3, 2 * HOUR).replace('Z', '+02:00');
    const { body } = await report('user', 'ben@example.com', encodeURIComponent(offset));
    expect(body.at).toBe(at(3));
  });

  test('finds the user by the id of that time', async () => {
    expect((await report('user', benId, at(6))).body.target).toBe(BEN);
  });

  test('is not found where the resource was not there then: not yet, or not any more', async () => {
    const answers = [
      await report('user', 'ben@example.com', at(1, -1)),
      await report('user', 'ben@example.com', at(7)),
      await report('group', 'crew', at(1)),
      await report('policy', 'crews', at(6)),
    ];
    expect(answers.map(({ status, body: { code } }) => [status, code])).toEqual(answers.map(() => [404, 'not_found']));
    expect((await report('user', 'ben@example.com', at(1))).status).toBe(200);
    expect((await report('policy', 'crews', at(6, -1))).status).toBe(200);
  });

  test('is not found before the organization was there, for an audit context too', async () => {
    const context = (time: string) =>
      org.api.get<Report & Refusal>(`${org.audit}/auditctx/app/-accessreport?at=${time}`);
    const [before, after] = [await context(at(0, -1)), await context(at(0))];
    expect([before.status, before.body.code, after.status]).toEqual([404, 'not_found', 200]);
    expect(after.body.target).toBe(link('auditctx', 'app'));
  });

  test('refuses an instant in the future, and what is none', async () => {
    for (const time of [new Date(Date.now() + HOUR).toISOString(), 'yesterday', '2026-01-01', '']) {
      const answer = await report('group', 'crew', time);
      expect([time, answer.status, pointers(answer)]).toEqual([time, 400, ['?at']]);
    }
    expect(pointers(await org.api.get<Refusal>(path('group', 'crew', '?when=now')))).toEqual(['?when']);
  });

  test('of this moment is that of now', async () => {
    const [now, then] = [await report('group', 'crew'), await report('group', 'crew', new Date().toISOString())];
    const { at: _at, ...rest } = then.body;
    expect(rest).toEqual(now.body);
  });

  test('is answered to many at once', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => report('user', 'ben@example.com', at(4))));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
  });
});
