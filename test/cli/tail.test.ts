import { newOrg, type Org } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';
import { answer, closeServers, scriptedServer } from './support/scripted-server.js';
import { type RunningSvc, startSvc, svc } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

let service: TestService;
let org: Org;
let env: Record<string, string>;
const running: RunningSvc[] = [];

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.remove());

beforeEach(async () => {
  org = await newOrg(service);
  env = { SVC_ENDPOINT: service.url, SVC_ORG: org.name, SVC_TOKEN: org.key };
});
afterEach(async () => {
  for (const one of running.splice(0)) one.kill('SIGKILL');
  await closeServers();
});

const tail = (...args: string[]) => svc(['audit', 'tail', ...args], { env });

function following(...args: string[]): RunningSvc {
  const started = startSvc(['audit', 'tail', '--follow', '--context', 'app', ...args], { env });
  running.push(started);
  return started;
}

const named = (name: string, eventTime?: string) => ({ resource: { name }, ...(eventTime && { eventTime }) });
const publishAll = async (...names: string[]) => void (await org.bulk(names.map((name) => named(name))));
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

/** The names of the events on lines of JSON; the last line may be on its way. */
const shown = (stdout: string): string[] =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { resource: { name: string } }).resource.name);

const idsOf = async (names: string[]) => {
  const { items } = (await org.list({ order: 'received', contextName: 'app', pageSize: '1000' })).body;
  return names.map((name) => items.find(({ resource }) => resource.name === name)?.id);
};

describe('svc audit tail', () => {
  it('shows the last ten in the order received, whatever their own time', async () => {
    await publishAll(...numbered(12));
    await org.publish(named('old', '1999-01-01T00:00:00Z'));
    const { code, stdout } = await tail('-o', 'names');
    expect([code, stdout.trimEnd().split('\n')]).toEqual([0, await idsOf([...numbered(12).slice(3), 'old'])]);
  });

  it('shows the last -n events that match the filters', async () => {
    await publishAll(...numbered(5), 'web', ...numbered(5).map((name) => `m${name}`));
    const count = async (...args: string[]) => (await tail('-o', 'names', ...args)).stdout.split('\n').length - 1;
    expect(await count('-n', '3')).toBe(3);
    expect(await count('-n0')).toBe(0);
    expect(await count('-n', '1000')).toBe(18);
    expect(await count('-n', '5', '--max', '2')).toBe(2);
    expect((await tail('-o', 'names', '--resource-name', 'web')).stdout).toBe(`${(await idsOf(['web']))[0]}\n`);
    for (const wrong of ['-1', '1001', 'x']) expect((await tail('-n', wrong)).code).toBe(2);
  });

  it('without --follow is a list like any other', async () => {
    await publishAll('a', 'b');
    const { stdout } = await tail('-n', '1', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'queryresult', items: [{ resource: { name: 'b' } }] });
    expect((await tail('-n', '1')).stdout).toMatch(/^\d{4}-\d\d-\d\dT.*\tb\t.*\n$/);
  });
});

describe('svc audit tail --follow', () => {
  it('shows new events, however old, as one JSON event a line, until Ctrl-C', async () => {
    await publishAll('before');
    const tailing = following('-o', 'json');
    await tailing.until(({ stdout }) => shown(stdout).length === 1);
    await org.publish(named('late', '1999-01-01T00:00:00Z'));
    await org.publish(named('other'), { context: 'elsewhere' });
    await publishAll('after');
    await tailing.until(({ stdout }) => shown(stdout).length === 3);
    tailing.kill('SIGINT');
    const { code, stdout, stderr } = await tailing.ended;
    expect([code, shown(stdout), stderr]).toEqual([130, ['before', 'late', 'after'], '']);
  });

  it('misses nothing and repeats nothing while publishers write', async () => {
    await publishAll('begin');
    let publishing = true;
    const writers = [0, 1, 2].map(async (writer) => {
      for (let n = 0; publishing; n += 1) await publishAll(...numbered(7).map((name) => `${writer}-${n}-${name}`));
    });
    const tailing = following('-o', 'names', '-n', '5');
    await tailing.until(({ stdout }) => stdout.split('\n').length > 200);
    publishing = false;
    await Promise.all(writers);
    await publishAll('end');
    const [end] = await idsOf([]).then(async () => (await org.list({ resourceName: 'end' })).body.items);
    await tailing.until(({ stdout }) => stdout.includes(`${end?.id}\n`));
    const ids = tailing.stdout.trimEnd().split('\n');
    const all = (await org.walk(`${org.audit}?order=received&contextName=app&pageSize=1000`)).map(({ id }) => id);
    expect(ids).toEqual(all.slice(-ids.length));
  });

  it('survives restarts of the service: reports them, continues, misses and repeats nothing', async () => {
    await publishAll('n0');
    const tailing = following('-o', 'json');
    await tailing.until(({ stdout }) => shown(stdout).length === 1);
    for (let round = 1; round <= 2; round += 1) {
      await org.bulk([named(`last-${round}`)]);
      const { port } = new URL(service.url);
      await service.stop();
      await tailing.until(({ stderr }) => stderr.split('waiting for the service').length === round + 1);
      service = await startService({ dataDir: service.dataDir, env: { CONTROL_PORT: port } });
      await publishAll(`n${round}`);
      await tailing.until(({ stdout }) => shown(stdout).includes(`n${round}`));
    }
    tailing.kill('SIGINT');
    const { code, stdout, stderr } = await tailing.ended;
    expect([code, shown(stdout)]).toEqual([130, ['n0', 'last-1', 'n1', 'last-2', 'n2']]);
    expect(stderr.split('the service is back').length).toBe(3);
  });

  it('ends after --max events', async () => {
    await publishAll('a', 'b');
    const tailing = following('-o', 'json', '--max', '3', '-n', '1');
    await tailing.until(({ stdout }) => shown(stdout).length === 1);
    await publishAll('c', 'd', 'e');
    const { code, stdout } = await tailing.ended;
    expect([code, shown(stdout)]).toEqual([0, ['b', 'c', 'd']]);
  });

  it('shows text as the list does, yaml as documents', async () => {
    await publishAll('a');
    const [text, yaml] = [following('--max', '2'), following('--max', '2', '-o', 'yaml-slim')];
    await Promise.all([text, yaml].map((one) => one.until(({ stdout }) => stdout !== '')));
    await publishAll('b');
    expect((await text.ended).stdout).toMatch(/^\S+\t.*\ta\t.*\n\S+\t.*\tb\t.*\n$/);
    expect((await yaml.ended).stdout.match(/^---$/gm)).toHaveLength(2);
  });

  it('ends with an error that waiting cannot mend', async () => {
    const page = (rel: string) => ({
      kind: 'queryresult',
      itemKind: 'auditevent',
      items: [],
      links: [{ rel, href: '/x' }],
    });
    const denied = await scriptedServer((_, response, index) =>
      index === 0 ? answer(response, 200, page('resume')) : answer(response, 403, { status: 403, message: 'no more' }),
    );
    env = { ...env, SVC_ENDPOINT: denied.url };
    const { code, stderr } = await following().ended;
    expect([code, stderr]).toEqual([4, 'error: no more\n']);
    const without = await scriptedServer((_, response) => answer(response, 200, page('self')));
    env = { ...env, SVC_ENDPOINT: without.url };
    expect((await following().ended).stderr).toContain('no `resume` link');
    env = { ...env, SVC_ENDPOINT: 'http://127.0.0.1:1' };
    expect((await following().ended).code).toBe(1);
  });

  it('backs off while the service is not ready', async () => {
    const page = { kind: 'queryresult', itemKind: 'auditevent', items: [], links: [{ rel: 'resume', href: '/x' }] };
    const { url, seen } = await scriptedServer((_, response, index) => {
      const busy = index > 0 && index < 4;
      if (busy) answer(response, 503, { status: 503, message: 'starting', code: 'not_ready' }, { 'retry-after': '0' });
      else answer(response, 200, index === 4 ? { ...page, items: [{ id: 'e1' }] } : page);
    });
    env = { ...env, SVC_ENDPOINT: url };
    const { code, stdout, stderr } = await following('-o', 'names', '--max', '1').ended;
    expect([code, stdout, seen.length]).toEqual([0, 'e1\n', 5]);
    expect(stderr).toBe(
      'starting (not_ready); waiting for the service\nthe service is back; going on where it stopped\n',
    );
  });

  withTerminal('shows the header once on a terminal, and the time of the day', async () => {
    await publishAll('a');
    const screen = svcOnTerminal('audit tail -f --context app --max 3', { ...env, NO_COLOR: '1' });
    for (const name of ['b', 'c']) {
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await publishAll(name);
    }
    const lines = (await screen).trimEnd().split('\n');
    expect(lines.filter((line) => line.startsWith('TIME'))).toHaveLength(1);
    expect(lines).toHaveLength(6);
    expect(lines[1]).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(lines[2]).toMatch(/^\d\d:\d\d:\d\d /);
  });
});
