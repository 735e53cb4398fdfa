import { parse } from 'yaml';
import { Api, type Event, type EventPage, newOrg, Org } from '../support/api.js';
import { type Mailbox, newUser, openMailbox } from '../support/mail.js';
import { Resources } from '../support/resources.js';
import { startService, type TestService } from '../support/service.js';
import { answer, closeServers, page, scriptedServer } from './support/scripted-server.js';
import { type RunningSvc, startSvc, svc } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

let mailbox: Mailbox;
let service: TestService;
let org: Org;
let env: Record<string, string>;
const running: RunningSvc[] = [];

beforeAll(async () => {
  mailbox = await openMailbox();
  service = await startService({ env: mailbox.env });
});
afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

beforeEach(async () => {
  org = await newOrg(service);
  env = envOf(org);
});
afterEach(async () => {
  for (const one of running.splice(0)) one.kill('SIGKILL');
  await closeServers();
});

const envOf = ({ name, key }: Org) => ({ SVC_ENDPOINT: service.url, SVC_ORG: name, SVC_TOKEN: key });
const log = (kind: string, ...args: string[]) => svc([kind, 'eventlog', ...args], { env });
const of = (kind: string) => new Resources(org, kind);
const link = (kind: string, ref: string) => `/org/${org.name}/${kind}/${ref}`;

async function done<Body>(call: Promise<{ status: number; text: string; body: Body }>): Promise<Body> {
  const { status, text, body } = await call;
  if (status >= 300) throw new Error(`answered ${status}: ${text}`);
  return body;
}

const events = async (kind: string, ref: string, query = ''): Promise<readonly Event[]> =>
  (await done(org.api.get<EventPage>(`${of(kind).at(ref)}/-eventlog${query}`))).items;

/** The lines of the text, each without its time. */
const untimed = (stdout: string): string[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\t/, ''));

/** The last column of each line. */
const changes = async (kind: string, ref: string, ...args: string[]): Promise<string[]> =>
  untimed((await log(kind, ref, ...args)).stdout).map((line) => line.split('\t').slice(4).join('\t'));

describe('svc <kind> eventlog', () => {
  it('shows a line an event, newest first: when, what, the result, who, from where, and what changed', async () => {
    await done(of('group').create({ name: 'crew', tags: { team: 'x' } }));
    await done(of('group').patch('crew', { description: 'the crew', tags: { team: 'y' } }));
    const { code, stdout, stderr } = await log('group', 'crew');
    expect([code, stderr]).toEqual([0, '']);
    expect(untimed(stdout)).toEqual([
      'edit\tOK\tadmin\t127.0.0.1\tdescription "crew" -> "the crew", tags.team "x" -> "y"',
      'create\tOK\tadmin\t127.0.0.1\t+tags.team=x',
    ]);
    const times = (await events('group', 'crew')).map(({ eventTime }) => eventTime);
    expect(stdout.split('\n').map((line) => line.split('\t')[0])).toEqual([...times, '']);
  });

  it('is the same under its short name', async () => {
    await done(of('group').create({ name: 'crew' }));
    const { stdout } = await log('group', 'crew');
    expect(stdout).toContain('create');
    expect(await svc(['group', 'log', 'crew'], { env })).toEqual({ code: 0, stdout, stderr: '' });
  });

  it('calls members by their names', async () => {
    const { email } = (await newUser(org, mailbox, 'ann@example.com')).body;
    await done(of('group').create({ name: 'crew', memberLinks: [link('user', email)] }));
    await done(of('group').patch('crew', { memberLinks: { $append: [link('serviceaccount', 'admin')] } }));
    await done(of('group').patch('crew', { memberLinks: { $drop: [link('user', email)] } }));
    expect(await changes('group', 'crew')).toEqual([
      '-member ann@example.com',
      '+member serviceaccount/admin',
      '+member ann@example.com',
    ]);
    expect(await changes('user', 'ann@example.com', '--action', 'create')).toEqual([
      '+name="Some One", +idp=invitation, +description="Some One"',
    ]);
  });

  it('names only the changed parts of bindings and specifications', async () => {
    const rule = (permissions: string[], ...principalLinks: string[]) => ({ permissions, principalLinks });
    const [crew, admin] = [link('group', 'viewers'), link('serviceaccount', 'admin')];
    await done(
      of('policy').create({ name: 'editors', targetKind: 'group', target: 'all', bindings: [rule(['edit'], crew)] }),
    );
    const bindings = [rule(['edit', 'delete'], crew), rule(['view'], admin)];
    await done(of('policy').patch('editors', { bindings }));
    await done(of('policy').patch('editors', { bindings: bindings.slice(0, 1) }));
    expect(await changes('policy', 'editors', '--action', 'edit')).toEqual([
      '-bindings[1].permissions=view, -bindings[1].principal serviceaccount/admin',
      '+bindings[0].permissions=delete, +bindings[1].permissions=view, +bindings[1].principal serviceaccount/admin',
    ]);
    const spec = (port: number) => ({ ports: [{ number: 443, routes: [{ prefix: '/', port }, { prefix: '/x' }] }] });
    await done(of('domain').create({ name: 'shop.example.com', spec: spec(8080) }));
    await done(of('domain').patch('shop.example.com', { spec: spec(9090) }));
    expect((await changes('domain', 'shop.example.com'))[0]).toBe('spec.ports[0].routes[0].port 8080 -> 9090');
  });

  it('quotes names and values that could be taken for something else', async () => {
    await done(of('group').create({ name: 'crew' }));
    const tags = { 'a.b': '1, +member eve', 'x -> y': '', 'svc-ok': '-dash', memberLinks: '/org/o/user/eve' };
    await done(of('group').patch('crew', { tags }));
    await done(of('group').patch('crew', { tags: { 'a.b': null, 'x -> y': null } }));
    expect((await changes('group', 'crew')).slice(0, 2)).toEqual([
      '-tags["a.b"]="1, +member eve", -tags["x -> y"]=""',
      '+tags["a.b"]="1, +member eve", +tags["x -> y"]="", +tags.svc-ok="-dash", +tags.memberLinks=/org/o/user/eve',
    ]);
  });

  it('shows the keys of a service account by their identifiers', async () => {
    await done(of('serviceaccount').create({ name: 'robot' }));
    const add = { description: 'for the build' };
    const { id } = await done(org.api.post<{ id: string }>(`${of('serviceaccount').at('robot')}/-addKey`, add));
    await done(org.api.post(`${of('serviceaccount').at('robot')}/-removeKey`, { id }));
    const [removed, added] = await changes('serviceaccount', 'robot');
    expect([removed, added]).toEqual([
      `-key.id=${id}, -key.description="for the build"`,
      `+key.id=${id}, +key.description="for the build"`,
    ]);
  });

  it('survives the deletion of the resource, by its name and by its identifier', async () => {
    const { id } = await done(of('group').create({ name: 'crew', tags: { team: 'x' } }));
    await of('group').delete('crew');
    for (const ref of ['crew', id]) expect(await changes('group', ref)).toEqual(['-tags.team=x', '+tags.team=x']);
  });

  it('ends with 1 for a resource that never existed, with 4 without a permission', async () => {
    const never = await log('group', 'never');
    expect([never.code, never.stdout, never.stderr]).toEqual([1, '', expect.stringContaining('not_found')]);
    expect((await log('group', '..')).code).toBe(1);
    await done(of('serviceaccount').create({ name: 'robot' }));
    env = { ...env, SVC_TOKEN: await newKey('robot') };
    expect((await log('group', 'viewers')).code).toBe(4);
  });

  it('as json and yaml is the whole answer of the service; as names, the identifiers of the events', async () => {
    await done(of('group').create({ name: 'crew' }));
    await done(of('group').patch('crew', { tags: { a: 'b' } }));
    const whole = await done(org.api.get<EventPage>(`${of('group').at('crew')}/-eventlog?pageSize=50`));
    expect(JSON.parse((await log('group', 'crew', '-o', 'json')).stdout)).toEqual(whole);
    expect(parse((await log('group', 'crew', '-o', 'yaml')).stdout)).toEqual(whole);
    const slim = JSON.parse((await log('group', 'crew', '-o', 'json-slim')).stdout) as EventPage;
    const { links: _links, ...rest } = whole;
    expect(slim).toEqual({ ...rest, items: whole.items.map(({ id: _id, ...item }) => item) });
    expect(parse((await log('group', 'crew', '-o', 'yaml-slim')).stdout)).toEqual(slim);
    const ids = whole.items.map(({ id }) => `${id}\n`).join('');
    expect((await log('group', 'crew', '-o', 'names')).stdout).toBe(ids);
  });

  it('shows 50 events, or as many as --max says, over pages', async () => {
    await done(of('group').create({ name: 'crew' }));
    for (let index = 0; index < 210; index += 1) {
      await done(of('group').patch('crew', { tags: { index: `${index}` } }));
    }
    // All of it is on the main API.
    env = { ...env, SVC_AUDIT_ENDPOINT: 'http://127.0.0.1:1' };
    const count = async (...args: string[]) => (await log('group', 'crew', ...args)).stdout.split('\n').length - 1;
    expect(await count()).toBe(50);
    expect(await count('--max', '3')).toBe(3);
    expect(await count('--max', '-1', '-o', 'names')).toBe(211);
    const { items } = JSON.parse((await log('group', 'crew', '--max', '205', '-o', 'json')).stdout) as EventPage;
    expect(items).toEqual((await events('group', 'crew', '?pageSize=1000')).slice(0, 205));
  });

  it('--action, --since and --until choose; times are instants or spans back from now', async () => {
    await done(of('group').create({ name: 'crew' }));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await done(of('group').patch('crew', { tags: { a: 'b' } }));
    const time = (await events('group', 'crew'))[0]?.eventTime ?? '';
    const actions = async (...args: string[]) =>
      untimed((await log('group', 'crew', ...args)).stdout).map((line) => line.split('\t')[0]);
    expect(await actions('--action', 'create')).toEqual(['create']);
    expect(await actions('--since', time)).toEqual(['edit']);
    expect(await actions('--until', time)).toEqual(['create']);
    expect(await actions('--since', '1h')).toEqual(['edit', 'create']);
    expect(await actions('--until', '1h')).toEqual(['']);
    expect(await actions('--since', '2020-01-01')).toEqual(['edit', 'create']);
  });

  it.each([
    [['--since', 'yesterday'], '--since is a span such as 7d, a date or an ISO 8601 instant'],
    [['--until', '2024-99'], '--until is an ISO 8601 instant'],
    [['--diff', '-o', 'json'], '--diff needs --output text'],
    [['--last', '3'], '--last needs --follow'],
    [['-f', '--last', '1001'], '--last is a whole number from 0 to 1000'],
    [['-f', '--until', '1h'], '--until cannot be combined with --follow'],
    [['--max', 'x'], '--max is a whole number'],
    [['-o', 'tf'], '--output tf is not available for event logs'],
    [['-o', 'crd'], '--output crd is not available for event logs'],
  ])('%j is a usage error', async (args, message) => {
    const { code, stdout, stderr } = await log('group', 'viewers', ...args);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)]);
  });

  it.each(['user', 'group', 'serviceaccount', 'policy', 'domain'])('svc %s log --help has examples', async (kind) => {
    const { code, stdout } = await svc([kind, 'log', '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain(`svc ${kind} eventlog <ref>`);
    expect(stdout).toMatch(new RegExp(`Examples\n {2}# .*\n {2}svc ${kind} eventlog \\S+\n`));
  });
});

describe('--diff', () => {
  const lines = [
    '    - description: "crew"',
    '    + description: "the crew of 東京"',
    '    + tags.team: "x"',
    '    + member: serviceaccount/admin',
  ];

  beforeEach(async () => {
    await done(of('group').create({ name: 'crew' }));
    const memberLinks = [link('serviceaccount', 'admin')];
    await done(of('group').patch('crew', { description: 'the crew of 東京', tags: { team: 'x' }, memberLinks }));
  });

  it('shows below each event what was before and after it, without colour in a pipe', async () => {
    const { stdout } = await log('group', 'crew', '--diff');
    const [edit = '', ...rest] = untimed(stdout);
    expect(edit).toMatch(/^edit\t.*\tdescription "crew" -> "the crew of 東京", /);
    expect(rest.slice(0, lines.length)).toEqual(lines);
    expect(rest[lines.length]).toMatch(/^create\t/);
    expect(rest.slice(lines.length + 1)).toContain('    + description: "crew"');
    for (const assigned of ['version', 'lastModified', 'created:', ' id:']) expect(stdout).not.toContain(assigned);
  });

  it('shows numbers digit for digit', async () => {
    const [before, after] = ['{"spec":{"weight":12345678901234567890}}', '{"spec":{"weight":1e400}}'];
    const event = `{"id":"e","action":{"type":"edit","data":{"before":${before},"after":${after}}}}`;
    await scripted(JSON.stringify(page(['@'])).replace('"@"', event));
    expect((await log('domain', 'x', '--diff')).stdout).toContain(
      '    - spec.weight: 12345678901234567890\n    + spec.weight: 1e400\n',
    );
  });

  withTerminal('is coloured on a terminal, unless NO_COLOR is set', async () => {
    const screen = await svcOnTerminal('group eventlog crew --diff --max 1', env);
    const [, , ...shown] = screen.trimEnd().split('\n');
    expect(shown).toEqual([
      ...lines.map((line) => (line.includes('-') ? `\u001b[31m${line}\u001b[39m` : `\u001b[32m${line}\u001b[39m`)),
      '1 shown, more exist (--max 0 for all)',
      'code 0',
    ]);
    const plain = await svcOnTerminal('group eventlog crew --diff', { ...env, NO_COLOR: '1' });
    expect(plain).not.toContain('\u001b');
    expect(plain).toContain(lines.join('\n'));
  });
});

/** A service that answers everything with the same. */
async function scripted(body: unknown): Promise<void> {
  const { url } = await scriptedServer((_, response) => answer(response, 200, body));
  env = { ...env, SVC_ENDPOINT: url };
}

describe('on a terminal', () => {
  withTerminal('lines are fitted to its width by display cells; in a pipe nothing is cut', async () => {
    await done(of('group').create({ name: 'crew' }));
    const wide = '東京🦊👩‍👩‍👧'.repeat(10);
    for (const lead of ['', 'x']) await done(of('group').patch('crew', { description: lead + wide }));
    const screen = await svcOnTerminal('group eventlog crew', { ...env, NO_COLOR: '1' });
    const [header = '', ...rows] = screen.trimEnd().split('\n').slice(0, -1);
    expect(header).toMatch(/^TIME +ACTION +WHO +FROM +CHANGE$/);
    expect(rows).toHaveLength(3);
    for (const row of rows.slice(0, 2)) {
      expect(row).toMatch(/^\d+[sm] .*…$/);
      // A cell may be left over where the next character takes two.
      expect([99, 100]).toContain(cellsOf(row));
    }
    expect((await log('group', 'crew')).stdout).toContain(`-> "x${wide}"`);
  });

  /** Of the characters of this test alone: each wide one takes two cells, the family too. */
  const cellsOf = (row: string): number =>
    [...new Intl.Segmenter().segment(row)].reduce(
      (sum, { segment }) => sum + (/^[\x20-\x7e…]$/.test(segment) ? 1 : 2),
      0,
    );
});

describe('what comes from outside', () => {
  const HOSTILE = 'a\u001b[2Jb\u0000c\u0007d\u007fe\u009b31mf\u2028g\u202ei\rk\nl\tm\ufeffo';
  const RAW = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u2028-\u202e\u2066-\u2069\ufeff]/;
  const state = { [HOSTILE]: HOSTILE, memberLinks: [HOSTILE, `/org/o/user/${encodeURIComponent(HOSTILE)}`] };
  const event = {
    id: HOSTILE,
    eventTime: HOSTILE,
    resource: { id: HOSTILE, name: HOSTILE, type: HOSTILE },
    context: { remoteIp: HOSTILE },
    subject: { email: HOSTILE },
    action: { type: HOSTILE, data: { before: { ...state, memberLinks: [] }, after: { ...state, [HOSTILE]: 1 } } },
    result: { status: HOSTILE },
  };

  it.each(['text', 'json', 'yaml', 'json-slim', 'yaml-slim', 'names'])('is never raw, -o %s', async (format) => {
    await scripted(page([event]));
    for (const args of [[], ['--color', '--ts', 'local'], ...(format === 'text' ? [['--diff']] : [])]) {
      const { code, stdout, stderr } = await log('group', 'crew', '-o', format, ...args);
      expect([code, stderr]).toEqual([0, '']);
      expect(format === 'text' ? stdout.replaceAll('\t', '') : stdout).not.toMatch(RAW);
      expect(stdout).toContain('\\u001b[2Jb');
      if (format === 'text') expect(stdout.trimEnd().split('\n')).toHaveLength(args.includes('--diff') ? 5 : 1);
    }
  });

  it('may lack anything', async () => {
    const odd = [
      null,
      3,
      [],
      {},
      { action: null },
      { action: { data: 7 } },
      { action: { data: { before: 1, after: [] } } },
    ];
    await scripted(page(odd));
    const { code, stdout, stderr } = await log('group', 'crew', '--diff');
    expect([code, stderr, stdout.trimEnd().split('\n')]).toEqual([0, '', odd.map(() => '-\t-\t-\t-\t-\t-')]);
  });

  it('a reader that goes away is no error, and ends it', async () => {
    const many = Array.from({ length: 1000 }, () => event);
    const { url, seen } = await scriptedServer((_, response, index) =>
      answer(response, 200, page(many, `/org/o/group/crew/-eventlog?cursor=${index}`)),
    );
    env = { ...env, SVC_ENDPOINT: url };
    const args = ['group', 'eventlog', 'crew', '--diff', '--max', '0'];
    const { code, stderr } = await svc(args, { env, closeAfter: 1 });
    expect([code, stderr]).toEqual([0, '']);
    expect(seen.length).toBeLessThan(20);
  });
});

describe('--follow', () => {
  function following(kind: string, ...args: string[]): RunningSvc {
    const started = startSvc([kind, 'eventlog', '--follow', ...args], { env });
    running.push(started);
    return started;
  }

  const shown = (stdout: string): (string | undefined)[] =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as Event).action?.type);

  const lines = (count: number) => (output: { stdout: string }) => output.stdout.split('\n').length > count;
  const MORE = [{ rel: 'resume', href: '/more' }];
  /** With -v: so often it has asked for what comes. */
  const polled = (times: number) => (output: { stderr: string }) => output.stderr.split('cursor=').length > times;
  const tag = (value: string) => done(of('group').patch('crew', { tags: { value } }));

  it('begins with the last events, oldest first, and goes on with those of the resource alone, until Ctrl-C', async () => {
    await done(of('group').create({ name: 'crew' }));
    await tag('a');
    const one = following('group', 'crew', '--diff');
    await one.until(lines(6));
    await done(of('group').create({ name: 'other' }));
    await org.publish({ resource: { name: 'crew', type: 'group' }, action: { type: 'edit' } });
    await tag('b');
    await of('group').delete('crew');
    await one.until(({ stdout }) => stdout.includes('\tdelete\t'));
    one.kill('SIGINT');
    const { code, stdout, stderr } = await one.ended;
    expect([code, stderr]).toEqual([130, '']);
    expect(
      stdout
        .split('\n')
        .filter((line) => /^\d/.test(line))
        .map((line) => line.split('\t').slice(5).join()),
    ).toEqual(['-', '+tags.value=a', 'tags.value "a" -> "b"', '-tags.value=b']);
    expect(stdout).toContain('    - tags.value: "a"\n    + tags.value: "b"\n');
  });

  it('begins with as many as -n says; ends after --max; --action and --since choose', async () => {
    await done(of('group').create({ name: 'crew' }));
    for (const value of ['a', 'b', 'c']) await tag(value);
    const [none, two, deleted] = [
      following('group', 'crew', '-n', '0', '--max', '1', '-o', 'json', '-v'),
      following('group', 'crew', '-n', '2', '--max', '3', '-o', 'names'),
      following('group', 'crew', '--action', 'delete', '--since', '1h', '-o', 'json', '--max', '1', '-v'),
    ];
    await Promise.all([two.until(lines(2)), none.until(polled(1)), deleted.until(polled(1))]);
    await tag('d');
    expect(shown((await none.ended).stdout)).toEqual(['edit']);
    const newest = (await events('group', 'crew')).map(({ id }) => id);
    expect((await two.ended).stdout).toBe(`${newest.slice(0, 3).reverse().join('\n')}\n`);
    await of('group').delete('crew');
    expect(shown((await deleted.ended).stdout)).toEqual(['delete']);
  });

  it('shows what happens while it begins once', async () => {
    const event = (id: string) => ({ id, resource: { id: 'g1', type: 'group' } });
    const { url, seen } = await scriptedServer((request, response) => {
      if (request.url.includes('/-eventlog'))
        answer(response, 200, { items: [event('e1')], query: { resourceId: 'g1' } });
      else if (request.url === '/more') answer(response, 200, { items: [event('e1'), event('e2')], links: MORE });
      else answer(response, 200, { items: [], links: MORE });
    });
    env = { ...env, SVC_ENDPOINT: url };
    expect((await following('group', 'crew', '-o', 'names', '--max', '2').ended).stdout).toBe('e1\ne2\n');
    const [, , from, first] = seen.map((request) => request.url);
    expect([from, first]).toEqual([expect.stringContaining('last=0'), expect.stringContaining('/-eventlog')]);
  });

  it('survives a restart of the service: misses and repeats nothing', async () => {
    await done(of('group').create({ name: 'crew' }));
    const one = following('group', 'crew', '-o', 'names');
    await one.until(lines(1));
    await tag('last before');
    const { port } = new URL(service.url);
    await service.stop();
    await one.until(({ stderr }) => stderr.includes('waiting for the service'));
    service = await startService({ dataDir: service.dataDir, env: { ...mailbox.env, CONTROL_PORT: port } });
    for (const value of ['a', 'b', 'c']) await tag(value);
    await one.until(lines(5));
    const ids = (await events('group', 'crew')).map(({ id }) => id);
    expect(one.stdout).toBe(`${ids.reverse().join('\n')}\n`);
    expect(one.stderr).toContain('the service is back');
  });

  it('tells of keys too, and of none that another has who gets the name later', async () => {
    const { id } = await done(of('serviceaccount').create({ name: 'robot' }));
    const [byName, byId, admin] = [
      following('serviceaccount', 'robot', '-o', 'json'),
      following('serviceaccount', id, '-o', 'json'),
      following('serviceaccount', 'admin', '-n', '0', '-o', 'json', '-v'),
    ];
    await Promise.all([byName.until(lines(1)), byId.until(lines(1)), admin.until(polled(1))]);
    await newKey('robot');
    await done(of('serviceaccount').patch('robot', { tags: { a: 'b' } }));
    await of('serviceaccount').delete('robot');
    await done(of('serviceaccount').create({ name: 'robot' }));
    await newKey('robot');
    await newKey('admin');
    await admin.until(lines(1));
    for (const one of [byName, byId]) {
      await one.until(lines(5));
      expect(shown(one.stdout).sort()).toEqual(['add-key', 'create', 'delete', 'edit', 'remove-key']);
    }
    expect(shown(admin.stdout)).toEqual(['add-key']);
  });

  it('of a deleted resource shows nothing of a later one with the same name', async () => {
    const { id } = await done(of('serviceaccount').create({ name: 'robot' }));
    await of('serviceaccount').delete('robot');
    const one = following('serviceaccount', id, '-o', 'json', '-v');
    await one.until(polled(1));
    await done(of('serviceaccount').create({ name: 'robot' }));
    await newKey('robot');
    const asked = one.stderr.split('cursor=').length;
    await one.until(polled(asked + 1));
    expect(shown(one.stdout)).toEqual(['create', 'delete']);
  });

  it('is refused to a key that may not read what the service changes, and says so', async () => {
    await done(of('serviceaccount').create({ name: 'robot' }));
    const bindings = [{ permissions: ['view'], principalLinks: [link('serviceaccount', 'robot')] }];
    await done(of('policy').create({ name: 'views', targetKind: 'group', target: 'all', bindings }));
    env = { ...env, SVC_TOKEN: await newKey('robot') };
    expect((await log('group', 'viewers')).code).toBe(0);
    const { code, stdout, stderr } = await following('group', 'viewers').ended;
    expect([code, stdout]).toEqual([4, '']);
    expect(stderr).toContain('readAudit on the audit context svc');
  });

  withTerminal('shows the header once on a terminal, and the time of the day', async () => {
    await done(of('group').create({ name: 'crew' }));
    const screen = svcOnTerminal('group log crew -f --max 2', { ...env, NO_COLOR: '1' });
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await tag('a');
    const shownLines = (await screen).trimEnd().split('\n');
    expect(shownLines.filter((line) => line.startsWith('TIME'))).toHaveLength(1);
    expect(shownLines).toHaveLength(4);
    expect(shownLines[2]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +✓ +edit .*\+tags\.value=a$/);
  });
});

async function newKey(account: string): Promise<string> {
  const path = `${of('serviceaccount').at(account)}/-addKey`;
  return (await done(new Api(service.url, org.key).post<{ key: string }>(path, { description: 'a key' }))).key;
}
