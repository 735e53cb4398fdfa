import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newOrg, type Org } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';
import { type RunningSvc, startSvc, svc, temporaryFolder } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

let service: TestService;
let org: Org;
let env: Record<string, string>;
const running: RunningSvc[] = [];

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  org = await newOrg(service);
  env = { SVC_ENDPOINT: service.url, SVC_ORG: org.name, SVC_TOKEN: org.key };
});
afterEach(() => {
  for (const one of running.splice(0)) one.kill('SIGKILL');
});
afterAll(() => service.remove());

const run = (...args: string[]) => svc(args, { env });
const event = (name: string, type: string, email = 'ann@example.com') => ({
  resource: { name },
  action: { type },
  subject: { email },
});

describe('svc audit contexts', () => {
  it('lists contexts with their events and retention, and sets it', async () => {
    await org.bulk([event('a', 'edit'), event('b', 'edit')], { context: 'shop' });
    expect((await run('audit', 'contexts')).stdout).toMatch(/^shop\s+2\s+forever\s/m);

    const set = await run('audit', 'contexts', 'shop', '--retention', '30d');
    expect([set.code, set.stdout]).toEqual([0, expect.stringMatching(/^shop\s+2\s+30d\s/)]);
    await run('audit', 'contexts', 'svc', '--denied-retention', '90');
    expect((await run('audit', 'contexts')).stdout).toMatch(/^svc\s+\d+\s+forever\s+90d\s/m);
    await run('audit', 'contexts', 'shop', '--retention', 'forever');
    expect(JSON.parse((await run('audit', 'contexts', 'shop', '-o', 'json')).stdout)).toMatchObject({
      name: 'shop',
      retentionDays: null,
      count: 2,
    });
  });

  it('makes settings for a context that has no events yet', async () => {
    expect((await run('audit', 'contexts', 'new', '--retention', '7')).stdout).toMatch(/^new\s+0\s+7d\s/);
  });

  it.each([
    [['--retention', '7'], 'name the audit context'],
    [['shop', '--retention', '0'], '--retention is a number of days'],
    [['shop', '--retention', '7w'], '--retention is a number of days'],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await run('audit', 'contexts', ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('svc audit stats', () => {
  beforeEach(async () => {
    await org.bulk([event('a', 'edit'), event('b', 'edit'), event('b', 'view', 'bob@example.com')]);
  });

  it('counts by a field, in a pipe a value and its count a line', async () => {
    const by = async (...args: string[]) =>
      (await run('audit', 'stats', '--context', 'app', ...args)).stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/\s{2,}|\t/));
    expect(await by('--by', 'action')).toEqual([
      ['edit', '2'],
      ['view', '1'],
    ]);
    expect(await by('--by', 'subject', '--action-type', 'view')).toEqual([['bob@example.com', '1']]);
    expect(await by('--by', 'resource', '--max', '1')).toEqual([
      ['b', '2'],
      ['(1 other)', '1'],
    ]);
    const { stdout } = await run('audit', 'stats', '--by', 'action', '--context', 'app', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'auditstats', count: 3 });
  });

  it('says that no events match, and refuses another field with those there are', async () => {
    const none = await run('audit', 'stats', '--context', 'none');
    expect([none.code, none.stdout, none.stderr]).toEqual([0, '', 'No events match\n']);
    const wrong = await run('audit', 'stats', '--by', 'requestId');
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('one of action, result, subject')]);
  });

  withTerminal('shows events over time and shares in blocks on a terminal', async () => {
    const screen = await svcOnTerminal('audit stats --context app --since 1h', { ...env, NO_COLOR: '1' });
    expect(screen).toMatch(/^3 events since \d{4}-\d\d-\d\d \d\d:\d\d until /);
    expect(screen).toMatch(/^ +█ +at most 3$/m);
    expect(screen).toMatch(/^edit +2 +67% +█{16}$/m);
  });
});

test('svc user activity shows counts and the last events of a user, also of one who is gone', async () => {
  await org.bulk([event('a', 'edit'), event('b', 'view', 'bob@example.com')]);
  const { code, stdout } = await run('user', 'activity', 'Bob@example.com');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^bob@example.com: 1 event since .*, 0 sent with the user's keys$/m);
  expect(stdout).toMatch(/^view\s+1$/m);
  expect(stdout).not.toContain('edit');
  const { stdout: json } = await run('user', 'activity', 'ann@example.com', '-o', 'json');
  expect(JSON.parse(json)).toMatchObject({
    user: 'ann@example.com',
    action: { values: [{ value: 'edit', count: 1 }] },
  });
});

describe('what a list leaves out', () => {
  it('is said on standard error, and not with --quiet', async () => {
    await org.bulk(['a', 'b', 'c'].map((name) => event(name, 'edit')));
    const list = ['audit', 'list', '--context', 'app'];
    expect((await run(...list, '--max', '2')).stderr).toBe('2 shown, more exist (--max 0 for all)\n');
    expect((await run(...list, '--page', '1', '--page-size', '2')).stderr).toBe(
      '2 shown, more exist (--page 2 for the next)\n',
    );
    expect((await run(...list, '--max', '3')).stderr).toBe('');
    expect((await run(...list, '--max', '2', '--quiet')).stderr).toBe('');
    expect((await run('group', 'get', '--max', '1')).stderr).toBe('1 shown, more exist (--max 0 for all)\n');
  });

  it('is all of it, and of a value that no event has, what values there are', async () => {
    await org.bulk([event('a', 'edit'), event('b', 'view'), event('c', 'edit')]);
    const filters = ['--context', 'app', '--resource-name', 'a'];
    expect((await run('audit', 'list', ...filters, '--action-type', 'edti')).stderr).toMatch(
      /^No events match\nno event has --action-type edti; there are .*edit.*view\n$/,
    );
    expect((await run('audit', 'list', ...filters, '--action-type', 'view')).stderr).toBe('No events match\n');
    expect((await run('audit', 'list', '--context', 'ap\u001b[2Jp')).stderr).not.toContain('\u001b');
    expect((await run('invitation', 'get')).stderr).toBe('No invitations\n');
  });
});

test('a publish says what was new', async () => {
  const file = join(temporaryFolder(), 'events.ndjson');
  writeFileSync(file, ['a', 'b'].map((name) => `${JSON.stringify(event(name, 'edit'))}\n`).join(''));
  const publish = ['audit', 'publish', '--context', 'app', '-f', file];
  expect((await run(...publish)).stderr).toBe('published 2 (2 new, 0 recorded before), failed 0\n');
  expect((await run(...publish)).stderr).toBe('published 2 (0 new, 2 recorded before), failed 0\n');
  expect((await run(...publish, '--async')).stderr).toBe('published 2, failed 0\n');
});

describe('the formats of other systems', () => {
  it('are for lists and tails of events alone', async () => {
    await org.publish(event('=1+1', 'edit'));
    const csv = (await run('audit', 'list', '--context', 'app', '-o', 'csv')).stdout.split('\r\n');
    expect([csv.length, csv[0]?.slice(0, 16), csv[1]?.includes(`"'=1+1"`)]).toEqual([3, '"id","eventTime"', true]);
    const { stdout } = await run('audit', 'tail', '-n', '1', '--context', 'app', '-o', 'cloudevents');
    expect(JSON.parse(stdout)).toMatchObject({ specversion: '1.0', subject: '=1+1' });
    expect((await run('audit', 'list', '--context', 'app', '-o', 'cef')).stdout).toMatch(/^CEF:0\|.*cs2=\\=1\+1 /);
    expect((await run('group', 'get', '-o', 'csv')).code).toBe(2);
  });
});

describe('svc audit tail -f --state', () => {
  const tailing = (state: string, ...args: string[]): RunningSvc => {
    const started = startSvc(['audit', 'tail', '-f', '--context', 'app', '-o', 'json', '--state', state, ...args], {
      env,
    });
    running.push(started);
    return started;
  };
  const names = (stdout: string): string[] =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as { resource: { name: string } }).resource.name);

  it('loses nothing when it is killed again and again, and repeats at most what was not noted', async () => {
    const state = join(temporaryFolder(), 'place');
    let publishing = true;
    let count = 0;
    const publisher = (async () => {
      for (; publishing; count += 3) {
        await org.bulk([0, 1, 2].map((n) => event(`n${count + n}`, 'edit')));
      }
    })();
    const seen: string[][] = [];
    for (let round = 0; round < 6; round += 1) {
      const one = tailing(state, '-n', '1000');
      // Before the first place is noted, the next run begins anew, with the last thousand.
      await one.until(({ stdout }) => names(stdout).length > 5 * (round + 1) && existsSync(state));
      one.kill('SIGKILL');
      seen.push(names((await one.ended).stdout));
    }
    publishing = false;
    await publisher;
    const last = tailing(state);
    await last.until(({ stdout }) => stdout.includes(`"n${count - 1}"`));
    last.kill('SIGTERM');
    seen.push(names((await last.ended).stdout));
    const numbers = (one: readonly string[]) => one.map((name) => Number(name.slice(1)));
    // Each run has every number from its first to its last, and begins no later than the one before ended.
    for (const [at, one] of seen.entries()) {
      const [first = 0, ...rest] = numbers(one);
      expect(rest).toEqual(rest.map((_, index) => first + index + 1));
      if (at > 0) expect(first).toBeLessThanOrEqual((numbers(seen[at - 1] ?? []).at(-1) ?? 0) + 1);
    }
    expect(new Set(seen.flat()).size).toBe(count);
  });

  it('goes on behind what was shown, in a format without its header', async () => {
    const state = join(temporaryFolder(), 'place');
    const csv = (): RunningSvc => {
      const started = startSvc(['audit', 'tail', '-f', '--context', 'app', '-o', 'csv', '--state', state], { env });
      running.push(started);
      return started;
    };
    await org.publish(event('a', 'edit'));
    const one = csv();
    await one.until(({ stdout }) => stdout.includes('"a"') && existsSync(state));
    one.kill('SIGINT');
    expect((await one.ended).stdout).toMatch(/^"id",/);
    await org.publish(event('b', 'edit'));
    const two = csv();
    await two.until(({ stdout }) => stdout.includes('"b"'));
    two.kill('SIGINT');
    const { stdout } = await two.ended;
    expect([stdout.startsWith('"id"'), stdout.includes('"a"'), stdout.split('\r\n').length]).toEqual([false, false, 2]);
  });

  it('refuses the place of another tail, what is no place, and options that it cannot keep', async () => {
    const state = join(temporaryFolder(), 'place');
    const one = tailing(state);
    await one.until(() => existsSync(state));
    one.kill('SIGKILL');
    await one.ended;
    const tail = (...args: string[]) => run('audit', 'tail', ...args, '--state', state);
    expect(await tail('-f', '--context', 'other')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('other filters'),
    });
    expect(await tail('-f', '--max', '5')).toMatchObject({ code: 2 });
    expect(await tail()).toMatchObject({ code: 2, stderr: expect.stringContaining('--state needs --follow') });
    const noted = JSON.parse(readFileSync(state, 'utf8')) as object;
    for (const text of ['', '{', '[]', JSON.stringify({ ...noted, position: '@evil.example/x' })]) {
      writeFileSync(state, text);
      expect(await tail('-f', '--context', 'app')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('remove it'),
      });
    }
  });
});
