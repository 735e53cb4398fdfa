import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, newClient, openHouse, type TestHouse } from './support/org.js';
import { svc } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

let house: TestHouse;
let client: Client;

beforeAll(async () => {
  house = await openHouse();
  client = await newClient(house);
  await client.run(['group', 'create', '--name', 'devs']);
});
afterAll(() => house.close());

describe('words that people expect', () => {
  it.each([
    ['group list', 'group get'],
    ['group ls -o names', 'group get -o names'],
    ['group show devs -o json', 'group get devs -o json'],
    ['audit ls --context svc', 'audit list --context svc'],
    ['profile list', 'profile get'],
    ['help group rm', 'help group delete'],
    ['invitation rm --help', 'invitation revoke --help'],
  ])('svc %s is svc %s', async (typed, meant) => {
    const [one, other] = [await client.run(typed.split(' ')), await client.run(meant.split(' '))];
    expect(one.code).toBe(0);
    expect(one).toEqual(other);
  });

  it('a verb that nothing means is unknown', async () => {
    const { code, stderr } = await client.run(['group', 'zap']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('unknown command `zap`')]);
  });
});

describe('--since and --until', () => {
  it.each([
    [['audit', 'list'], '7d', '2031-01-01'],
    [['audit', 'list'], '2020-01-01', '0s'],
    [['audit', 'tail'], '2020-01-01T00:00:00Z', '2031-01-01T00:00:00+01:00'],
    [['audit', 'export'], '2020-01-01', '2031-01-01'],
    [['group', 'eventlog', 'devs'], '2020-01-01', '2031-01-01'],
    [['group', 'eventlog', 'devs'], '1h30m', '2031-01-01T00:00:00Z'],
  ])('%j takes %s and %s', async (args, since, until) => {
    const given = await client.run([...args, '--since', since, '--until', until]);
    expect([given.code, given.stdout]).toEqual([0, expect.stringContaining('create')]);
    expect((await client.run([...args, '--until', '2020-01-01'])).stdout).toBe('');
  });
});

const UNSEEN = ['\u200b', '\u200c', '\u200d', '\u00ad', '\u034f', '\u115f', '\u3164', '\uffa0', '\u2060', '\ufeff'];
const TAGS = '\u{e0041}\u{e007f}';

it('shows what is not seen as escapes, and leaves pictographs whole', async () => {
  const description = `a${UNSEEN.join('')}b${TAGS} 👩‍👩‍👧 ❤️`;
  await client.run(['group', 'create', '--name', 'hidden', '--description', description]);
  const { stdout } = await client.run(['group', 'get', 'hidden']);
  const escapes = UNSEEN.map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
  expect(stdout).toContain(`a${escapes}b\\udb40\\udc41\\udb40\\udc7f 👩‍👩‍👧 ❤️`);
  for (const format of ['json', 'yaml']) {
    const shown = await client.run(['group', 'get', 'hidden', '-o', format]);
    expect(shown.stdout).not.toMatch(/[\u00ad\u200b\u3164]|\u{e0041}/u);
  }
  expect((await client.json('group', 'get', 'hidden')).description).toBe(description);
  const copied = await client.run(['group', 'get', 'hidden', '-o', 'yaml-slim']);
  await client.run(['group', 'create', '-f', '-', '--name', 'copied'], { input: copied.stdout });
  expect((await client.json('group', 'get', 'copied')).description).toBe(description);
});

it('warns of a profile file that others can read', async () => {
  const env = { SVC_CONFIG_DIR: client.env.SVC_CONFIG_DIR ?? '' };
  await svc(['profile', 'create', 'a'], { env });
  const file = join(env.SVC_CONFIG_DIR, 'profiles.json');
  chmodSync(file, 0o644);
  const { code, stderr } = await svc(['profile', 'get'], { env });
  expect([code, stderr]).toEqual([0, `warning: others can read the keys in ${file}: run \`chmod 600 ${file}\`\n`]);
  await svc(['profile', 'update', 'a', '--org', 'x'], { env });
  expect((await svc(['profile', 'get'], { env })).stderr).toBe('');
});

describe('on a terminal', () => {
  withTerminal('a file `-` says that it waits', async () => {
    const typed = 'name: typed\n\u0004';
    const screen = await svcOnTerminal('group create -f -', client.env, typed, 'end with Ctrl-D');
    expect(screen).toContain('reading from the terminal; end with Ctrl-D');
    expect(screen).toMatch(/typed {2}.*\ncode 0\n$/);
  });

  withTerminal('a dumb one gets no sequences', async () => {
    for (const args of ['group get', 'audit list', 'group --help', 'group get no-such']) {
      expect(await svcOnTerminal(args, { ...client.env, TERM: 'dumb' })).not.toContain('\u001b');
    }
  });
});
