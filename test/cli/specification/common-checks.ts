import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { parseTerraform } from '../support/hcl.js';
import type { Live } from '../support/live.js';
import { temporaryFolder } from '../support/svc.js';
import { svcOnTerminal } from '../support/terminal.js';
import { tlsFront } from '../support/tls-front.js';
import type { Checks } from './verify.js';

/** Promises about what a person sees: their checks need a terminal. */
export const ON_A_TERMINAL: readonly string[] = ['--color default true', '--color'];

const ESCAPE = '\u001b[';

/** Profiles in a folder of their own; only `right` names the service. */
export function profiles(live: Live, fallback = 'wrong'): Record<string, string> {
  const folder = join(temporaryFolder(), 'svc');
  mkdirSync(folder);
  const right = { org: live.org.name, token: live.org.key, endpoint: live.service.url };
  const wrong = { org: 'nowhere', token: 'svc_wrong', endpoint: 'http://127.0.0.1:1' };
  const content = { version: 1, default: fallback, profiles: { right, wrong } };
  writeFileSync(join(folder, 'profiles.json'), JSON.stringify(content), { mode: 0o600 });
  return { SVC_CONFIG_DIR: folder, SVC_ENDPOINT: '', SVC_ORG: '', SVC_TOKEN: '' };
}

/** The built-in groups, which every organization has. */
const BUILTIN_GROUPS = ['superusers', 'viewers'];

const seen = async (live: Live, args: readonly string[], env: Record<string, string> = {}) =>
  (await live.svc(['group', 'get', ...BUILTIN_GROUPS, '-o', 'names', ...args], { env })).stdout
    .split('\n')
    .filter(Boolean);

const format = (name: string, check: (text: string, live: Live) => unknown) => async (live: Live) => {
  for (const kind of ['user', 'group'] as const) {
    const ref =
      kind === 'user'
        ? (await live.user({ tags: { team: 'blue' } })).email
        : (await live.group({ tags: { team: 'blue' } })).name;
    const text = await live.out([kind, 'get', ref, '--output', name]);
    expect(text).toContain(ref);
    await check(text, live);
    expect(await live.out([kind, 'get', ref, '-o', name])).toBe(text);
  }
};

const WHOLE = { kind: expect.any(String), id: expect.any(String), tags: { team: 'blue' }, version: expect.any(Number) };
const ASSIGNED = ['id', 'version', 'created', 'lastModified', 'links'];
const expectSlim = (value: object) => {
  expect(value).toMatchObject({ tags: { team: 'blue' } });
  for (const name of ASSIGNED) expect(value).not.toHaveProperty(name);
};

/** The third column of groups. */
const createdColumn = async (live: Live, env: Record<string, string>, ...options: string[]) => {
  const { name, created } = await live.group();
  const row = await live.out(['group', 'get', name, ...options], { env });
  return { created, shown: row.split('\t')[2] };
};

/** How many groups are shown where there are more than fifty. */
const shownGroups = async (live: Live, ...options: string[]) => {
  const { body } = await live.groups.list('?limit=1000');
  for (let missing = 60 - body.items.length; missing > 0; missing--) await live.group();
  const all = (await live.groups.list('?limit=1000')).body.items.length;
  const shown = (await live.names(['group', 'get', ...options])).length;
  return { shown, all };
};

/** One check for each option that every command has. */
export const COMMON_CHECKS: Checks = {
  '--profile': async (live) => expect(await seen(live, ['--profile', 'right'], profiles(live))).toEqual(BUILTIN_GROUPS),
  '--profile SVC_PROFILE': async (live) => {
    const env = profiles(live);
    expect(await seen(live, [], { ...env, SVC_PROFILE: 'right' })).toEqual(BUILTIN_GROUPS);
    expect(await seen(live, ['--profile', 'right'], { ...env, SVC_PROFILE: 'wrong' })).toEqual(BUILTIN_GROUPS);
    expect(await seen(live, [], profiles(live, 'right'))).toEqual(BUILTIN_GROUPS);
  },
  '--org': async (live) => {
    const env = { SVC_ORG: 'nowhere' };
    expect(await seen(live, [], env)).toEqual([]);
    expect(await seen(live, ['--org', live.org.name], env)).toEqual(BUILTIN_GROUPS);
  },
  '--token': async (live) => {
    const env = { SVC_TOKEN: 'svc_unknown' };
    expect((await live.svc(['group', 'get'], { env })).code).toBe(4);
    expect(await seen(live, ['--token', live.org.key], env)).toEqual(BUILTIN_GROUPS);
  },
  '--endpoint': async (live) => {
    const env = { SVC_ENDPOINT: 'http://127.0.0.1:1' };
    expect(await seen(live, [], env)).toEqual([]);
    expect(await seen(live, ['--endpoint', live.service.url], env)).toEqual(BUILTIN_GROUPS);
  },

  '--output': async (live) => {
    const { code, stderr } = await live.svc(['group', 'get', '--output', 'xml']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--output is one of text')]);
  },
  '--output alias -o': async (live) =>
    expect(JSON.parse(await live.out(['group', 'get', 'viewers', '-o', 'json']))).toHaveProperty('kind', 'group'),
  '--output text': format('text', async (text) => expect(text).toMatch(/^\S.*\t.*team=blue\n$/)),
  '--output json': format('json', (text) => expect(JSON.parse(text)).toMatchObject(WHOLE)),
  '--output yaml': format('yaml', (text) => expect(parse(text)).toMatchObject(WHOLE)),
  '--output json-slim': format('json-slim', (text) => expectSlim(JSON.parse(text))),
  '--output yaml-slim': format('yaml-slim', (text) => expectSlim(parse(text))),
  '--output tf': format('tf', async (text) => {
    const [block, ...more] = await parseTerraform(text);
    expect(more).toEqual([]);
    expect(block).toMatchObject({
      type: expect.stringMatching(/^svc_(user|group)$/),
      values: { tags: { team: 'blue' } },
    });
  }),
  '--output crd': format('crd', (text) => {
    const [document, ...more] = parseAllDocuments(text);
    expect(more).toEqual([]);
    expect(document?.toJS()).toMatchObject({
      apiVersion: 'control.svc.dev/v1',
      kind: expect.any(String),
      metadata: { name: expect.any(String) },
      spec: { tags: { team: 'blue' } },
    });
  }),
  '--output names': format('names', (text) => expect(text).toMatch(/^\S+\n$/)),

  '--color': async (live) => {
    const screen = (...options: string[]) => svcOnTerminal(['group', 'get', 'viewers', ...options].join(' '), live.env);
    expect(await live.out(['group', 'get', 'viewers', '--help', '--color'])).toContain(ESCAPE);
    expect(await live.out(['group', 'get', 'viewers', '--help'])).not.toContain(ESCAPE);
    for (const off of ['--color=false', '--color false', '--no-color']) expect(await screen(off)).not.toContain(ESCAPE);
    expect(await svcOnTerminal('group get viewers', { ...live.env, NO_COLOR: '1' })).not.toContain(ESCAPE);
    for (const on of ['--color', '--color=true', '--color true']) {
      expect(await svcOnTerminal(`group get viewers ${on}`, { ...live.env, NO_COLOR: '1' })).toContain(ESCAPE);
    }
  },
  '--color default true': async (live) => expect(await svcOnTerminal('group get viewers', live.env)).toContain(ESCAPE),

  '--ts': async (live) => {
    const { code, stderr } = await live.svc(['group', 'get', '--ts', 'utc']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--ts is one of iso, local, age')]);
  },
  '--ts text': async (live) => {
    const [iso, age] = await Promise.all(
      ['iso', 'age'].map((ts) => live.out(['group', 'get', '-o', 'yaml', '--ts', ts])),
    );
    expect(age).toBe(iso);
  },
  '--ts iso': async (live) => {
    const { created, shown } = await createdColumn(live, {}, '--ts', 'iso');
    expect(shown).toBe(created);
  },
  '--ts local': async (live) => {
    const { created, shown = '' } = await createdColumn(live, { TZ: 'Asia/Tokyo' }, '--ts', 'local');
    expect(shown).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    expect(Date.parse(`${shown.replace(' ', 'T')}+09:00`)).toBe(Math.floor(Date.parse(created) / 1000) * 1000);
  },
  '--ts age': async (live) => {
    expect((await createdColumn(live, {}, '--ts', 'age')).shown).toMatch(/^\d+s$/);
  },

  '--max': async (live) => expect((await shownGroups(live, '--max', '7')).shown).toBe(7),
  '--max default 50': async (live) => expect((await shownGroups(live)).shown).toBe(50),
  '--max below 1': async (live) => {
    for (const option of [['--max', '0'], ['--max', '-1'], ['--max=-1']]) {
      const { shown, all } = await shownGroups(live, ...option);
      expect([option, shown]).toEqual([option, all]);
    }
  },

  '--insecure': async (live) => {
    const front = await tlsFront(live.service.url);
    try {
      const strict = await live.svc(['group', 'get', 'viewers', '--endpoint', front.url]);
      expect([strict.code, strict.stderr]).toEqual([1, expect.stringContaining('certificate')]);
      expect(await seen(live, ['--endpoint', front.url, '--insecure'])).toEqual(BUILTIN_GROUPS);
      expect(await seen(live, ['--endpoint', front.url], { NODE_EXTRA_CA_CERTS: front.certificate })).toEqual(
        BUILTIN_GROUPS,
      );
    } finally {
      await front.close();
    }
  },
  '--insecure alias -k': async (live) => {
    const front = await tlsFront(live.service.url);
    try {
      expect(await seen(live, ['--endpoint', front.url, '-k'])).toEqual(BUILTIN_GROUPS);
    } finally {
      await front.close();
    }
  },

  ...remarks('--verbose', '-v', /GET .*\/group\/viewers.*: 200/),
  ...remarks('--debug', '-d', /^> GET .*\/group\/viewers\n[\s\S]*^< 200 OK\n[\s\S]*"viewers"/m),
  '--help': async (live) => {
    const { code, stdout, stderr } = await live.svc(['group', 'delete', 'viewers', '--help', '--debug']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('svc group delete <ref>');
    expect((await live.groups.get('viewers')).status).toBe(200);
  },
};

/** What is told on standard error for the asking only, never with the key. */
function remarks(option: string, alias: string, told: RegExp): Checks {
  const shown = (given: string) => async (live: Live) => {
    const { code, stdout, stderr } = await live.svc(['group', 'get', 'viewers', '-o', 'names', given]);
    expect([code, stdout, stderr]).toEqual([0, 'viewers\n', expect.stringMatching(told)]);
    expect(stderr).not.toContain(live.org.key);
  };
  return {
    [option]: shown(option),
    [`${option} alias ${alias}`]: shown(alias),
    [`${option} default false`]: async (live) => {
      expect((await live.svc(['group', 'get', 'viewers'])).stderr).toBe('');
    },
  };
}
