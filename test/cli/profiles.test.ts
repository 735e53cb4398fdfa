import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { svc, temporaryFolder } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

const KEY = 'svc_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG';

function setUp() {
  const home = temporaryFolder();
  const dir = join(home, 'config');
  return { dir, file: join(dir, 'profiles.json'), home, env: { SVC_CONFIG_DIR: dir } };
}

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe('the profile file', () => {
  it('can be read by its owner only, and so can its folder', async () => {
    const { dir, file, env } = setUp();
    expect((await svc(['login', '--no-verify', '--org', 'acme'], { env, input: `${KEY}\n` })).code).toBe(0);
    expect([mode(dir), mode(file)]).toEqual(['700', '600']);
    expect(readdirSync(dir)).toEqual(['profiles.json']);
  });

  it('restores its mode after it was opened to others', async () => {
    const { file, env } = setUp();
    await svc(['profile', 'create', 'a'], { env });
    chmodSync(file, 0o644);
    await svc(['profile', 'update', 'a', '--org', 'x'], { env });
    expect(mode(file)).toBe('600');
  });

  it('is in XDG_CONFIG_HOME', async () => {
    const { home } = setUp();
    await svc(['profile', 'create', 'a'], { env: { SVC_CONFIG_DIR: '', XDG_CONFIG_HOME: home } });
    expect(existsSync(join(home, 'svc', 'profiles.json'))).toBe(true);
  });

  it('keeps all of many concurrent changes', async () => {
    const { dir, env } = setUp();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const codes = await Promise.all(names.map(async (name) => (await svc(['profile', 'create', name], { env })).code));
    expect(codes).toEqual(names.map(() => 0));
    const { stdout } = await svc(['profile', 'get', '-o', 'names'], { env });
    expect(stdout.trim().split('\n').sort()).toEqual(names);
    expect(readdirSync(dir)).toEqual(['profiles.json']);
  });

  it('stays unchanged when a change fails', async () => {
    const { file, env } = setUp();
    await svc(['profile', 'create', 'a'], { env });
    const before = readFileSync(file, 'utf8');
    const { code, stderr } = await svc(['profile', 'create', 'a', '--org', 'x'], { env });
    expect([code, stderr]).toEqual([1, expect.stringContaining('profile `a` already exists')]);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  it.each(['{', '{}', '[]', 'null', '{"version":1,"profiles":{"a":{"token":3}}}', '{"version":2,"profiles":{}}'])(
    'is named when it is damaged: %s',
    async (text) => {
      const { dir, file, env } = setUp();
      mkdirSync(dir);
      writeFileSync(file, text);
      for (const args of [
        ['profile', 'get'],
        ['audit', 'list'],
        ['profile', 'create', 'x'],
      ]) {
        const { code, stderr } = await svc(args, { env });
        expect([code, stderr]).toEqual([1, expect.stringContaining(`the profile file ${file} is damaged`)]);
      }
      expect(readFileSync(file, 'utf8')).toBe(text);
    },
  );

  it('stays a symbolic link, and survives a lock whose owner died', async () => {
    const { dir, file, home, env } = setUp();
    mkdirSync(dir);
    const target = join(home, 'elsewhere.json');
    writeFileSync(target, '{"version":1,"profiles":{}}');
    symlinkSync(target, file);
    writeFileSync(`${file}.lock`, '');
    utimesSync(`${file}.lock`, 1, 1);
    expect((await svc(['profile', 'create', 'a'], { env })).code).toBe(0);
    expect(JSON.parse(readFileSync(target, 'utf8'))).toEqual({ version: 1, default: 'a', profiles: { a: {} } });
  });
});

describe('profile commands', () => {
  it('create, update, get, set-default, delete', async () => {
    const { env } = setUp();
    await svc(['profile', 'create', 'one', '--org', 'acme', '--token', KEY], { env });
    await svc(['profile', 'create', 'two', '--endpoint', 'https://api.example.com/'], { env });
    await svc(['profile', 'update', 'two', '--org', 'other', '--endpoint', ''], { env });
    await svc(['profile', 'set-default', 'two'], { env });
    const { stdout } = await svc(['profile', 'get', '-o', 'json'], { env });
    expect(JSON.parse(stdout).items).toEqual([
      { name: 'one', default: false, org: 'acme', token: 'svc_***DEFG' },
      { name: 'two', default: true, org: 'other' },
    ]);
    expect((await svc(['profile', 'delete', 'one', 'gone'], { env })).code).toBe(1);
    expect((await svc(['profile', 'get', '-o', 'names'], { env })).stdout).toBe('one\ntwo\n');
    expect((await svc(['profile', 'delete', 'one', 'two'], { env })).code).toBe(0);
    expect((await svc(['profile', 'get'], { env })).stdout).toBe('');
  });

  it('a name such as `constructor` is a name like any other', async () => {
    const { env } = setUp();
    expect((await svc(['profile', 'get', 'constructor'], { env })).code).toBe(1);
    expect((await svc(['profile', 'create', 'constructor'], { env })).code).toBe(0);
    expect((await svc(['profile', 'get', 'constructor', '-o', 'names'], { env })).stdout).toBe('constructor\n');
  });

  it('only `token` prints the key', async () => {
    const { env } = setUp();
    const outputs = [await svc(['login', '--no-verify', '--profile', 'p', '-o', 'names'], { env, input: `${KEY}\n` })];
    for (const format of ['text', 'json', 'yaml', 'names']) {
      outputs.push(
        await svc(['profile', 'get', '-o', format], { env }),
        await svc(['profile', 'get', 'p', '-o', format], { env }),
      );
    }
    outputs.push(await svc(['profile', 'update', 'p', '--token', KEY], { env }));
    for (const { stdout, stderr } of outputs) expect(stdout + stderr).not.toContain(KEY);
    expect((await svc(['profile', 'token'], { env })).stdout).toBe(`${KEY}\n`);
    expect((await svc(['profile', 'token', 'p'], { env })).stdout).toBe(`${KEY}\n`);
  });
});

describe('login', () => {
  it.each([
    ['', 'no key'],
    ['two\nkeys\n', 'more than one line'],
    ['with space\n', 'is not a key'],
    [`${KEY}é\n`, 'is not a key'],
  ])('refuses %j without repeating it', async (input, message) => {
    const { dir, env } = setUp();
    const { code, stdout, stderr } = await svc(['login'], { env, input });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain(KEY);
    expect(existsSync(join(dir, 'profiles.json'))).toBe(false);
  });

  it('keeps the other settings of the profile', async () => {
    const { file, env } = setUp();
    await svc(['login', '--no-verify', '--org', 'acme', '--endpoint', 'http://127.0.0.1:1'], { env, input: KEY });
    await svc(['login', '--no-verify'], { env, input: `${KEY}2\n` });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      version: 1,
      default: 'default',
      profiles: { default: { org: 'acme', endpoint: 'http://127.0.0.1:1', token: `${KEY}2` } },
    });
  });

  withTerminal('on a terminal the key is asked for and not shown; backspace and Ctrl-C work', async () => {
    const { env } = setUp();
    const screen = await svcOnTerminal('login --no-verify', env, `${KEY}x\u007f\r`);
    expect(screen).toContain('stored the key in profile default');
    expect(screen).toContain('code 0');
    expect(screen).not.toContain(KEY.slice(0, 8));
    expect((await svc(['profile', 'token'], { env })).stdout).toBe(`${KEY}\n`);
    expect(await svcOnTerminal('login', env, 'abc\u0003')).toContain('code 130');
  });
});
