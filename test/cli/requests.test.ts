import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answer, closeServers, page, type ScriptedServer, scriptedServer } from './support/scripted-server.js';
import { svc, temporaryFolder } from './support/svc.js';

const KEY = 'svc_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG';
afterEach(closeServers);

describe('where a call goes, and as whom: flag before environment before profile before default', () => {
  const setUp = async () => {
    const [profile, audit, env, flag] = await Promise.all(
      [1, 2, 3, 4].map(() => scriptedServer((_, response) => answer(response, 200, page([])))),
    );
    const dir = join(temporaryFolder(), 'svc');
    mkdirSync(dir);
    const stored = { org: 'of-profile', token: 'key-of-profile', endpoint: profile?.url, auditEndpoint: audit?.url };
    const other = { org: 'of-other', token: 'key-of-other', endpoint: profile?.url };
    writeFileSync(
      join(dir, 'profiles.json'),
      JSON.stringify({ version: 1, default: 'p', profiles: { p: stored, q: other } }),
    );
    const run = (args: string[], more: Record<string, string> = {}) =>
      svc(['audit', 'list', ...args], { env: { SVC_CONFIG_DIR: dir, ...more } });
    return { profile, audit, env, flag, run };
  };
  const seen = (server: ScriptedServer | undefined) =>
    server?.seen.map(({ url, headers }) => [url.split('?')[0], headers.authorization]);

  it('the profile', async () => {
    const { audit, run } = await setUp();
    await run([]);
    expect(seen(audit)).toEqual([['/audit/org/of-profile', 'Bearer key-of-profile']]);
  });

  it('another profile, by environment or flag; its endpoint serves audit calls too', async () => {
    const { profile, audit, run } = await setUp();
    await run([], { SVC_PROFILE: 'q' });
    await run(['--profile', 'q'], { SVC_PROFILE: 'p' });
    expect(seen(profile)).toEqual([
      ['/audit/org/of-other', 'Bearer key-of-other'],
      ['/audit/org/of-other', 'Bearer key-of-other'],
    ]);
    expect(seen(audit)).toEqual([]);
    const { code, stderr } = await run(['--profile', 'gone']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('existing profiles: p, q')]);
  });

  it('the environment, and above it the flags', async () => {
    const { env, flag, audit, run } = await setUp();
    const vars = { SVC_ORG: 'of-env', SVC_TOKEN: 'key-of-env', SVC_ENDPOINT: env?.url ?? '' };
    await run([], vars);
    await run(['--org', 'of-flag', '--token', 'key-of-flag', '--endpoint', flag?.url ?? ''], vars);
    await run([], { ...vars, SVC_AUDIT_ENDPOINT: flag?.url ?? '' });
    await run(['--endpoint', flag?.url ?? ''], { SVC_AUDIT_ENDPOINT: env?.url ?? '' });
    expect(seen(env)).toEqual([['/audit/org/of-env', 'Bearer key-of-env']]);
    expect(seen(flag)).toEqual([
      ['/audit/org/of-flag', 'Bearer key-of-flag'],
      ['/audit/org/of-env', 'Bearer key-of-env'],
      ['/audit/org/of-profile', 'Bearer key-of-profile'],
    ]);
    expect(seen(audit)).toEqual([]);
  });
});

describe('what can go wrong', () => {
  const ask = (url: string, ...args: string[]) =>
    svc(['audit', 'list', '--org', 'acme', '--token', KEY, '--endpoint', url, ...args]);

  it.each([
    ['http://127.0.0.1:1', 'nothing listens at http://127.0.0.1:1'],
    ['http://nowhere.invalid', 'nowhere.invalid'],
  ])('%s', async (url, message) => {
    const { code, stdout, stderr } = await ask(url);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(message);
    expect(stderr).toContain('--endpoint');
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it.each([
    [401, 'unauthenticated', 4],
    [403, 'forbidden', 4],
    [404, 'not_found', 1],
    [409, 'conflict', 1],
    [500, 'internal', 1],
  ])('the status %d is shown with its code and request', async (status, code, exit) => {
    const fields = [
      { pointer: '/a', reason: 'is\u001b[2J wrong' },
      { pointer: '', reason: 'is not either' },
    ];
    const { url } = await scriptedServer((_, response) =>
      answer(response, status, { status, message: 'no', code, id: 'r-1', details: { fields } }),
    );
    const result = await ask(url);
    expect([result.code, result.stdout]).toEqual([exit, '']);
    expect(result.stderr).toContain(
      `error: no (${code}, request r-1)\n  a: is\\u001b[2J wrong\n  the body: is not either\n`,
    );
  });

  it('explains an answer that is not from the service', async () => {
    const html = await scriptedServer((_, response) => answer(response, 200, '<html>'));
    expect((await ask(html.url)).stderr).toContain(`the answer of ${html.url} is not JSON`);
    const gateway = await scriptedServer((_, response) => answer(response, 418, '<html>'));
    expect((await ask(gateway.url)).stderr).toContain("error: the service answered 418 I'm a Teapot");
    const other = await scriptedServer((_, response) => answer(response, 200, '[]'));
    expect((await ask(other.url)).stderr).toContain('not a list');
    const moved = await scriptedServer((_, response) => answer(response, 302, '', { location: 'http://elsewhere/' }));
    expect((await ask(moved.url)).stderr).toContain('302 Found, to http://elsewhere/');
  });

  it('waits as long as the service asks, and retries', async () => {
    const busy = { status: 503, message: 'busy', code: 'log_unavailable', id: 'r' };
    const { url, seen } = await scriptedServer((_, response, index) =>
      index < 2 ? answer(response, 503, busy, { 'retry-after': '0' }) : answer(response, 200, page([{ id: 'e1' }])),
    );
    const { code, stdout } = await ask(url, '-o', 'names');
    expect([code, stdout, seen.length]).toEqual([0, 'e1\n', 3]);
  });

  it('does not wait if the service asks for too long', async () => {
    const { url, seen } = await scriptedServer((_, response) =>
      answer(response, 429, { message: 'later', status: 429 }, { 'retry-after': '3600' }),
    );
    expect([(await ask(url)).code, seen.length]).toEqual([1, 1]);
  });

  it('retries after a connection that closes within an answer', async () => {
    const { url, seen } = await scriptedServer((_, response, index) => {
      if (index > 0) return answer(response, 200, page([{ id: 'e1' }]));
      response.writeHead(200, { 'content-length': '1000' }).write('{"kind"');
      setTimeout(() => response.destroy(), 20);
    });
    expect([(await ask(url, '-o', 'names')).stdout, seen.length]).toEqual(['e1\n', 2]);
  });

  it('never follows a link to another host', async () => {
    const { url, seen } = await scriptedServer((_, response) =>
      answer(response, 200, page([{ id: 'e1' }], '//evil.example/x')),
    );
    const { code, stderr } = await ask(url, '--max', '0');
    expect([code, stderr, seen.length]).toEqual([1, expect.stringContaining('link that is not a path'), 1]);
  });
});

describe('--debug and --verbose', () => {
  it('show requests and answers, never a key', async () => {
    const { url } = await scriptedServer((_, response) =>
      answer(response, 201, { kind: 'org', name: 'acme', key: `${KEY}9` }, { 'x-request-id': 'r-7' }),
    );
    const root = 'a-root-key-of-any-shape';
    const args = ['org', 'create', '--name', 'acme', '--token', root, '--endpoint', url, '-d', '-v'];
    const { code, stdout, stderr } = await svc(args);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`\nkey: ${KEY}9\n`)]);
    for (const part of [
      `> POST ${url}/org`,
      '> authorization: ***',
      '{"name":"acme"}',
      '< 201 Created',
      'r-7',
      '"key":"***"',
    ]) {
      expect(stderr).toContain(part);
    }
    expect(stderr).not.toContain(KEY);
    expect(stderr).not.toContain(root);
  });

  it('also mask a key in a message of the service', async () => {
    const { url } = await scriptedServer((_, response) =>
      answer(response, 400, { message: `bad key ${KEY}`, status: 400 }),
    );
    const { stderr } = await svc(['org', 'get', '--org', 'a', '--token', KEY, '--endpoint', url]);
    expect(stderr).toBe('error: bad key ***\n');
  });

  it('the issued key is shown once on standard output', async () => {
    const { url } = await scriptedServer((_, response) =>
      answer(response, 201, { kind: 'org', name: 'acme', key: KEY }),
    );
    const run = (format: string) =>
      svc(['org', 'create', '--name', 'acme', '--token', 'root', '--endpoint', url, '-o', format]);
    expect((await run('text')).stdout).toMatch(new RegExp(`^acme\t.*\nkey: ${KEY}\n$`));
    expect(JSON.parse((await run('json')).stdout).key).toBe(KEY);
  });
});
