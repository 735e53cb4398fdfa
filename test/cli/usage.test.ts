import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { FAMILIES } from '../../src/cli/commands/families.js';
import { EXIT } from '../../src/cli/output/failures.js';
import { TOPICS } from '../../src/cli/output/topics.js';
import { svc } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

const COMMANDS = [
  'audit get',
  'audit list',
  'audit publish',
  'completion bash',
  'login',
  'org create',
  'org get',
  'profile create',
  'profile delete',
  'profile get',
  'profile set-default',
  'profile token',
  'profile update',
];

/** The families of several commands, and the words of each. */
const families: [family: string, commands: string[]][] = [];
for (const [family, { load }] of FAMILIES) {
  const commands = (await load()).map(({ paths }) => paths?.[0]?.join(' ') ?? '');
  if (commands[0] !== family) families.push([family, commands]);
}

describe('help', () => {
  it.each([[['--version']], [['--version', '--no-color']]])('%j', async (args) => {
    const { code, stdout } = await svc(args);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });

  it.each([[[]], [['--help']], [['-h']], [['help']], [['--color', 'false']]])('svc %j', async (args) => {
    const { code, stdout, stderr } = await svc(args);
    expect([code, stderr]).toEqual([0, '']);
    for (const family of ['audit', 'login', 'org', 'profile']) expect(stdout).toContain(`\n  ${family} `);
  });

  it('lists what people use every day apart from administration, and topics', async () => {
    const { stdout } = await svc(['--help']);
    const [, , everyday = '', administration = '', topics = ''] = stdout.split('\n\n');
    expect(everyday).toMatch(/^Everyday commands\n(.*\n)* {2}audit /);
    expect(administration).toMatch(/^Administration\n(.*\n)* {2}rebuild /);
    for (const topic of TOPICS.keys()) expect(topics).toContain(`\n  ${topic} `);
  });

  it.each([...TOPICS])('svc help %s says what a person looks for', async (topic, { summary, rows }) => {
    const { code, stdout } = await svc(['help', topic]);
    expect([code, stdout.split('\n')[0]]).toEqual([0, `svc help ${topic}: ${summary}`]);
    const lines = stdout.split('\n').map((line) => line.replace(/ {2,}/, ' '));
    expect(lines).toEqual(expect.arrayContaining(rows.map((row) => row.join(' '))));
  });

  it('names every variable that is read, and every exit code', async () => {
    const { stdout: environment } = await svc(['help', 'environment']);
    const read = readdirSync('src/cli', { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) => readFileSync(join('src/cli', file), 'utf8').match(/(?<=\benv\.)(?!XDG_)[A-Z_]+/g) ?? []);
    expect(read).toContain('SVC_PROFILE');
    for (const name of read) expect(environment).toContain(name);
    const { stdout: codes } = await svc(['help', 'exit-codes']);
    for (const code of Object.values(EXIT)) expect(codes).toMatch(new RegExp(`^${code} `, 'm'));
  });

  withTerminal('is wrapped to the terminal, and whole in a pipe', async () => {
    const lines = (await svcOnTerminal('group create --help', {})).split('\n');
    for (const line of lines) expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(100);
    const { stdout } = await svc(['group', 'create', '--help']);
    expect(stdout.split('\n').some((line) => line.length > 100)).toBe(true);
  });

  it.each([[['audit']], [['audit', '--help']], [['--help', 'audit']], [['help', 'audit']]])('svc %j', async (args) => {
    const { code, stdout } = await svc(args);
    expect(code).toBe(0);
    for (const leaf of ['publish', 'get', 'list']) expect(stdout).toContain(`audit ${leaf} `);
  });

  it.each(families)('svc %s shows its commands', async (family, commands) => {
    const asked = [[family], [family, '--help'], ['-h', family], ['help', family]];
    const shown = await Promise.all(asked.map((args) => svc(args)));
    for (const { code, stdout, stderr } of shown) {
      expect([code, stderr]).toEqual([0, '']);
      for (const command of commands) expect(stdout).toContain(`\n  ${command} `);
    }
  });

  it.each(COMMANDS)('svc %s --help', async (command) => {
    const { code, stdout, stderr } = await svc([...command.split(' '), '--help']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`\n  svc ${command}`);
    for (const section of ['Usage\n', 'Common options\n', '-h, --help', 'Examples\n'])
      expect(stdout).toContain(section);
    expect(stdout).not.toContain('#0');
  });

  it('lists the common options for every command of the service', async () => {
    const { stdout } = await svc(['org', 'get', '--help']);
    for (const option of ['--profile', '--org', '-o, --output', '--color', '--ts', '--max', '--token', '--endpoint']) {
      expect(stdout).toContain(`  ${option}`);
    }
    for (const option of ['-k, --insecure', '-v, --verbose', '-d, --debug']) expect(stdout).toContain(`  ${option}`);
  });

  it('is shown wherever --help is on the line', async () => {
    const { stdout } = await svc(['--help', 'audit', 'get', 'some-id', '--max', '3']);
    expect(stdout).toContain('svc audit get <id>');
  });

  it('has bold titles only where colours are wanted', async () => {
    expect((await svc(['--help'])).stdout).not.toContain('\u001b');
    expect((await svc(['--help', '--color'], { env: { NO_COLOR: '1' } })).stdout).toContain('\u001b[1mUsage');
  });
});

describe('an invalid command line: exit code 2, explained on standard error', () => {
  it.each([
    [['adit'], 'unknown command `adit`', 'did you mean `audit`?'],
    [['audit', 'lst'], 'unknown command `lst`', 'did you mean `list`?'],
    [['audit', 'list', '--maxx', '3'], 'unknown option --maxx', 'did you mean `--max`?'],
    [['--hlep'], 'unknown option --hlep', 'did you mean `--help`?'],
    [['audit', 'get'], '<id> is missing', 'see `svc audit get --help`'],
    [['org', 'create'], '--name is required', ''],
    [['org', 'get', 'a', 'b'], 'unexpected word `b`', ''],
    [['audit', 'list', '--max'], '--max needs a value', ''],
    [['audit', 'list', '--max', 'many'], '--max is a whole number, not `many`', ''],
    [['audit', 'list', '-o', 'xml'], '--output is one of text, json', ''],
    [['audit', 'list', '-o', 'jsn'], '--output is one of text, json', 'did you mean `json`?'],
    [['audit', 'list', '--ts', 'lcoal'], '--ts is one of iso', 'did you mean `local`?'],
    [['audit', 'list', '-o', 'tf'], '--output tf is not available for audit events', ''],
    [['audit', 'list', '-o', 'crd'], '--output crd is not available for audit events', ''],
    [['audit', 'list', '--ts', 'utc'], '--ts is one of iso, local, age', ''],
    [['audit', 'list', '--since', 'yesterday'], '--since is a span such as 7d', ''],
    [['audit', 'list', '--from', 'yesterday'], '--from is a span such as 7d', ''],
    [['audit', 'list', '--from', '2024-01-01', '--since', '7d'], 'give --from or --since, not both', ''],
    [['audit', 'list', '--order', 'newest'], '--order is `received`', ''],
    [['audit', 'list'], 'no organization', ''],
    [['audit', 'publish'], 'no event', ''],
    [['audit', 'publish', '-f', 'x', '--resource-name', 'y'], 'exclude each other', ''],
    [['audit', 'list', '--org', 'a', '--endpoint', 'ftp://x'], 'is not an address', ''],
    [['audit', 'list', '--org', '..', '--token', 't'], "`..` is not an organization's name", ''],
    [['profile', 'create', '../x'], 'is not a profile name', ''],
  ])('svc %j', async (args, message, hint) => {
    const { code, stdout, stderr } = await svc(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`error: `);
    expect(stderr).toContain(message);
    expect(stderr).toContain(hint);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it('never shows a control character of what was typed', async () => {
    const { stderr } = await svc(['\u001b[2Jx\u202e']);
    expect(stderr).toContain('unknown command `\\u001b[2Jx\\u202e`');
  });
});

describe('no token', () => {
  it.each([
    [['audit', 'list']],
    [['audit', 'get', 'x']],
    [['org', 'get']],
    [['audit', 'publish', '--resource-name', 'x']],
  ])('svc %j ends with 4', async (args) => {
    const { code, stderr } = await svc([...args, '--org', 'acme']);
    expect([code, stderr]).toEqual([4, expect.stringContaining('svc login')]);
  });
});
