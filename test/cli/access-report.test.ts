import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import { Api, fromNow, newOrg, type Org } from '../support/api.js';
import { type Mailbox, newUser, openMailbox } from '../support/mail.js';
import { Resources } from '../support/resources.js';
import { startService, type TestService } from '../support/service.js';
import { answer, closeServers, scriptedServer } from './support/scripted-server.js';
import { svc } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

let mailbox: Mailbox;
let service: TestService;
let org: Org;
let env: Record<string, string>;
let annOnly: string;

const of = (kind: string) => new Resources(org, kind);
const link = (kind: string, ref: string) => `/org/${org.name}/${kind}/${ref}`;
const report = (...args: string[]) => svc(['group', 'access-report', 'crew', ...args], { env });

async function done<Body>(call: Promise<{ status: number; text: string; body: Body }>): Promise<Body> {
  const { status, text, body } = await call;
  if (status >= 300) throw new Error(`answered ${status}: ${text}`);
  return body;
}

/**
 * Who may do what to the group `crew`: Ann may edit it by name. The robot, a member, and Ben, who matches its query, may
 * delete it; the robot may view it by name, too.
 */
beforeAll(async () => {
  mailbox = await openMailbox();
  service = await startService({ env: mailbox.env });
  org = await newOrg(service);
  env = { SVC_ENDPOINT: service.url, SVC_ORG: org.name, SVC_TOKEN: org.key };
  for (const name of ['ann', 'ben']) await newUser(org, mailbox, `${name}@example.com`);
  await done(of('user').patch('ben@example.com', { tags: { team: 'x' } }));
  await done(of('serviceaccount').create({ name: 'robot' }));
  const spec = { terms: [{ tag: 'team', value: 'x' }] };
  const memberQuery = { kind: 'user', fetch: 'items', spec };
  await done(of('group').create({ name: 'crew', memberLinks: [link('serviceaccount', 'robot')], memberQuery }));
  const policy = async (name: string, ...bindings: [permission: string, kind: string, ref: string][]) => {
    const rules = bindings.map(([permission, kind, ref]) => ({
      permissions: [permission],
      principalLinks: [link(kind, ref)],
    }));
    const targetLinks = [link('group', 'crew')];
    await done(of('policy').create({ name, targetKind: 'group', targetLinks, bindings: rules }));
  };
  await policy('editors', ['edit', 'user', 'ann@example.com']);
  await delay(5);
  annOnly = fromNow(0);
  await delay(5);
  await policy('removers', ['delete', 'group', 'crew'], ['view', 'serviceaccount', 'robot']);
});

afterEach(closeServers);
afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

const LIST = [
  'view\tann@example.com\tdirect\teditors',
  'view\tben@example.com\tquery\tremovers',
  'view\tserviceaccount/admin\tgroup\tsuperusers',
  'view\tserviceaccount/robot\tgroup\tremovers',
  'view\tserviceaccount/robot\tdirect\tremovers',
  'create\tserviceaccount/admin\tgroup\tsuperusers',
  'edit\tann@example.com\tdirect\teditors',
  'edit\tserviceaccount/admin\tgroup\tsuperusers',
  'delete\tben@example.com\tquery\tremovers',
  'delete\tserviceaccount/admin\tgroup\tsuperusers',
  'delete\tserviceaccount/robot\tgroup\tremovers',
  'manage\tserviceaccount/admin\tgroup\tsuperusers',
];

describe('svc <kind> access-report', () => {
  it('in a pipe is a list: permission, who, how, by which policy', async () => {
    const { code, stdout, stderr } = await report();
    expect([code, stderr, stdout.trimEnd().split('\n')]).toEqual([0, '', LIST]);
    expect((await svc(['group', 'accessreport', 'crew'], { env })).stdout).toBe(stdout);
  });

  withTerminal('on a terminal is a matrix of people and permissions, with a legend', async () => {
    const screen = await svcOnTerminal('group access-report crew', { ...env, NO_COLOR: '1' });
    expect(screen.trimEnd().split('\n')).toEqual([
      'WHO                   view   create  edit  delete  manage',
      'ann@example.com       D1     -       D1    -       -',
      'ben@example.com       Q2     -       -     Q2      -',
      'serviceaccount/admin  G3     G3      G3    G3      G3',
      'serviceaccount/robot  D2 G2  -       -     G2      -',
      '',
      'D  named in the policy',
      'G  member of a group that is named in the policy',
      'Q  matches the query of a group that is named in the policy',
      '1  policy editors',
      '2  policy removers',
      '3  policy superusers',
      'code 0',
    ]);
    const coloured = await svcOnTerminal('group access-report crew', env);
    expect(coloured).toContain('\u001b[32mD1\u001b[39m');
    expect(coloured).toContain('\u001b[2m-\u001b[22m');
  });

  withTerminal('on a terminal too narrow for the matrix is the list', async () => {
    const principalLink = `/org/o/user/${'x'.repeat(70)}@example.com`;
    const names = ['view', 'edit', 'delete', 'manage'];
    const bindings = [{ principalLink, policyLink: '/org/o/policy/p', via: 'direct' }];
    const body = { kind: 'accessreport', permissions: names.map((name) => ({ name, bindings })) };
    const { url } = await scriptedServer((_, response) => answer(response, 200, body));
    const screen = await svcOnTerminal('group access-report crew', { ...env, SVC_ENDPOINT: url, NO_COLOR: '1' });
    const [header, ...rows] = screen.trimEnd().split('\n').slice(0, -1);
    expect(header).toMatch(/^PERMISSION +WHO +HOW +POLICY$/);
    expect(rows).toHaveLength(names.length);
    // Whoever it is can be copied from the screen.
    for (const row of rows) expect(row).toContain(`${'x'.repeat(70)}@example.com`);
  });

  it('as json and yaml is the whole answer of the service; as names, everybody once', async () => {
    const whole = await done(org.api.get<unknown>(`${of('group').at('crew')}/-accessreport`));
    for (const format of ['json', 'json-slim']) expect(JSON.parse((await report('-o', format)).stdout)).toEqual(whole);
    for (const format of ['yaml', 'yaml-slim']) expect(parse((await report('-o', format)).stdout)).toEqual(whole);
    const names = ['ann@example.com', 'ben@example.com', 'serviceaccount/admin', 'serviceaccount/robot'];
    expect((await report('-o', 'names')).stdout).toBe(`${names.join('\n')}\n`);
  });

  it('--max limits how many people are shown, and says that there are more', async () => {
    const { stdout, stderr } = await report('--max', '1');
    expect(stdout.trimEnd().split('\n')).toEqual([
      'view\tann@example.com\tdirect\teditors',
      'create\t-\t-\t-',
      'edit\tann@example.com\tdirect\teditors',
      'delete\t-\t-\t-',
      'manage\t-\t-\t-',
    ]);
    expect(stderr).toBe('3 more have permissions; --max 0 shows all\n');
    expect((await report('--max', '3', '-o', 'names')).stdout.split('\n')).toHaveLength(4);
    expect((await report('--max', '0', '-o', 'names')).stderr).toBe('');
  });

  it('--at shows the past: at a time, or so long ago', async () => {
    const { stdout } = await report('--at', annOnly);
    expect(stdout).toContain('edit\tann@example.com\tdirect\teditors\n');
    expect(stdout).not.toContain('removers');
    const { at } = JSON.parse((await report('--at', annOnly, '-o', 'json')).stdout) as { at: string };
    expect(at).toBe(annOnly);
    const long = await report('--at', '7d');
    expect([long.code, long.stdout, long.stderr]).toEqual([1, '', expect.stringContaining('not_found')]);
  });

  it.each([
    ['user', 'ann@example.com'],
    ['serviceaccount', 'robot'],
    ['policy', 'editors'],
  ])('tells of a %s, too', async (kind, ref) => {
    const { code, stdout } = await svc([kind, 'access-report', ref], { env });
    expect([code, stdout]).toEqual([0, expect.stringContaining('serviceaccount/admin\tgroup\tsuperusers\n')]);
  });

  it.each([
    [['--at', 'yesterday'], '--at is a span such as 7d, a date or an ISO 8601 instant'],
    [['--max', 'x'], '--max is a whole number'],
    [['-o', 'tf'], '--output tf is not available for access reports'],
    [['-o', 'crd'], '--output crd is not available for access reports'],
  ])('%j is a usage error', async (args, message) => {
    const { code, stdout, stderr } = await report(...args);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)]);
  });

  it('ends with 1 for a missing resource, with 4 without the permission', async () => {
    expect((await svc(['group', 'access-report', 'never'], { env })).code).toBe(1);
    const { key } = await done(
      new Api(service.url, org.key).post<{ key: string }>(`${of('serviceaccount').at('robot')}/-addKey`, {
        description: 'a key',
      }),
    );
    expect((await svc(['group', 'access-report', 'viewers'], { env: { ...env, SVC_TOKEN: key } })).code).toBe(4);
  });

  it('svc group access-report --help has examples', async () => {
    const { code, stdout } = await svc(['group', 'access-report', '--help']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('\n  svc group access-report devs --at ')]);
  });
});

describe('what comes from outside', () => {
  const HOSTILE = 'a\u001b[2Jb\u0000c\u0007d\u007fe\u009b31mf\u2028g\u202ei\rk\nl\tm\ufeffo';
  const RAW = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u2028-\u202e\u2066-\u2069\ufeff]/;
  const binding = { principalLink: `/org/o/user/${encodeURIComponent(HOSTILE)}`, policyLink: HOSTILE, via: HOSTILE };
  const hostile = { kind: HOSTILE, permissions: [{ name: HOSTILE, description: HOSTILE, bindings: [binding] }] };

  const scripted = async (body: unknown) => {
    const { url } = await scriptedServer((_, response) => answer(response, 200, body));
    return { ...env, SVC_ENDPOINT: url };
  };

  it.each(['text', 'json', 'yaml', 'json-slim', 'yaml-slim', 'names'])('is never raw, -o %s', async (format) => {
    const args = ['group', 'access-report', 'crew', '-o', format];
    const { code, stdout, stderr } = await svc(args, { env: await scripted(hostile) });
    expect([code, stderr]).toEqual([0, '']);
    expect(format === 'text' ? stdout.replaceAll('\t', '') : stdout).not.toMatch(RAW);
    expect(stdout).toContain('\\u001b[2Jb');
    if (format === 'text' || format === 'names') expect(stdout.split('\n')).toHaveLength(2);
  });

  withTerminal('is never raw in the matrix and its legend', async () => {
    const short = '\u001b[2J\u202e';
    const bindings = [{ principalLink: short, policyLink: short, via: short }];
    const screen = await svcOnTerminal('group access-report crew', {
      ...(await scripted({ permissions: [{ name: 'view', bindings }] })),
      NO_COLOR: '1',
    });
    expect(screen).not.toMatch(RAW);
    expect(screen).toContain('1  policy \\u001b[2J\\u202e\n');
  });

  it.each([[{}], [[]], [null], [3], [{ permissions: [null, 4, { name: {}, bindings: [null, 'x'] }] }]])(
    'may lack anything: %j',
    async (body) => {
      const { code, stderr } = await svc(['group', 'access-report', 'crew'], { env: await scripted(body) });
      expect([code, stderr]).toEqual([0, '']);
    },
  );

  it('a reader that goes away is no error', async () => {
    const bindings = Array.from({ length: 50_000 }, (_, index) => ({
      ...binding,
      principalLink: `principal-${index}`,
    }));
    const many = await scripted({ permissions: [{ name: 'view', bindings }] });
    const args = ['group', 'access-report', 'crew', '--max', '0'];
    const { code, stderr } = await svc(args, { env: many, closeAfter: 1 });
    expect([code, stderr]).toEqual([0, '']);
  });
});
