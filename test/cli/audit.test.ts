import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startService, type TestService } from '../support/service.js';
import { svc, temporaryFolder } from './support/svc.js';

/** The client against the real service. */
describe('svc audit', () => {
  let service: TestService;
  let env: Record<string, string>;
  const audit = (args: string[], input = '') => svc(['audit', ...args], { env, input });
  const names = async (...args: string[]) =>
    (await audit(['list', ...args, '-o', 'names'])).stdout.split('\n').filter(Boolean);

  beforeAll(async () => {
    service = await startService();
    env = { SVC_ENDPOINT: service.url, SVC_CONFIG_DIR: join(temporaryFolder(), 'svc') };
    const created = await svc(['org', 'create', '--name', 'acme', '-o', 'json', '--tag', 'team=core=1'], {
      env: { ...env, SVC_TOKEN: service.rootKey },
    });
    const { key } = JSON.parse(created.stdout) as { key: string };
    await svc(['login', '--org', 'acme'], { env, input: `${key}\n` });
  });

  afterAll(() => service.remove());

  it('reads the organization with the key it logged in with', async () => {
    const { code, stdout } = await svc(['org', 'get', '-o', 'json'], { env });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'org', name: 'acme', tags: { team: 'core=1' } });
    expect(stdout).not.toContain('"key"');
    const recovered = await svc(['org', 'recover'], { env: { ...env, SVC_TOKEN: service.rootKey } });
    expect([recovered.code, recovered.stdout]).toEqual([0, expect.stringMatching(/^svc_\S+\n$/)]);
    const again = { ...env, SVC_TOKEN: recovered.stdout.trim() };
    expect((await svc(['org', 'get', '-o', 'names'], { env: again })).stdout).toBe('acme\n');
    expect((await svc(['org', 'get', 'other'], { env })).code).toBe(4);
    expect(
      (await svc(['org', 'create', '--name', 'acme'], { env: { ...env, SVC_TOKEN: service.rootKey } })).stderr,
    ).toContain('already_exists');
  });

  it('publishes a file; publishing it again adds nothing', async () => {
    const file = join(temporaryFolder(), 'events.ndjson');
    const lines = Array.from(
      { length: 1100 },
      (_, index) => `{"resource":{"name":"twice"},"action":{"type":"n${index % 1000}"}}`,
    );
    writeFileSync(file, `${lines.join('\n')}\n`);
    const first = await audit(['publish', '-f', file, '-o', 'names']);
    const again = await audit(['publish', '-f', file, '-o', 'names']);
    expect([first.code, first.stderr]).toEqual([0, 'published 1100 (1100 new, 0 recorded before), failed 0\n']);
    expect(new Set(first.stdout.trim().split('\n')).size).toBe(1100);
    expect(again.stdout).toBe(first.stdout);
    expect((await names('--resource-name', 'twice', '--max', '0')).sort()).toEqual(
      first.stdout.trim().split('\n').sort(),
    );
  });

  it('--max counts over pages', async () => {
    expect(await names('--resource-name', 'twice')).toHaveLength(50);
    expect(await names('--resource-name', 'twice', '--max', '450')).toHaveLength(450);
    const { stdout } = await audit(['list', '--resource-name', 'twice', '--max', '-1', '-o', 'json']);
    const { items, links } = JSON.parse(stdout) as { items: { id: string }[]; links: { rel: string }[] };
    expect(new Set(items.map(({ id }) => id)).size).toBe(1100);
    expect(links.map(({ rel }) => rel)).toEqual(['self']);
  });

  it('--page shows one page of --page-size events', async () => {
    const all = await names('--resource-name', 'twice', '--max', '0');
    const page = (...args: string[]) => names('--resource-name', 'twice', ...args);
    expect(await page('--page', '2', '--page-size', '10')).toEqual(all.slice(10, 20));
    expect(await page('--page', '22')).toEqual(all.slice(1050));
    expect(await page('--page', '23')).toEqual([]);
    expect((await audit(['list', '--page-size', '10'])).code).toBe(2);
    expect((await audit(['list', '--page', '0'])).code).toBe(2);
  });

  it.each([
    '/leading',
    'trailing/',
    'double//slash',
    'arn:aws:s3:::bucket/key with space',
    '#hash?query=1&x=y',
    '100%',
    '%2F',
    'Ünïcödé 東京 🦊',
    '..',
    '.',
    '../../etc/passwd',
    'a+b',
    '-dash',
    '"quoted"\\',
  ])('a resource called %j is found by its name and its id', async (name) => {
    const [id] = (await audit(['publish', `--resource-name=${name}`, '-o', 'names'])).stdout.split('\n');
    expect(await names(`--resource-name=${name}`)).toEqual([id]);
    const [second] = (await audit(['publish', `--resource-id=${name}`, '-o', 'names'])).stdout.split('\n');
    expect(await names(`--resource-id=${name}`)).toEqual([second]);
    const { stdout } = await audit(['get', id ?? '', '-o', 'json']);
    expect((JSON.parse(stdout) as { item: { resource: { name: string } } }).item.resource.name).toBe(name);
  });

  it('large numbers come back digit for digit', async () => {
    const data = '{"big":12345678901234567890123,"small":-9007199254740993,"exact":0.1}';
    const [id = ''] = (
      await audit(['publish', '-f', '-', '-o', 'names'], `{"resource":{"name":"n"},"action":{"data":${data}}}`)
    ).stdout.split('\n');
    const compact = async (...args: string[]) => (await audit([...args, '-o', 'json'])).stdout.replace(/\s/g, '');
    expect(await compact('get', id)).toContain(`"data":${data}`);
    expect(await compact('list', '--resource-name', 'n')).toContain(`"data":${data}`);
    expect((await audit(['get', id, '-o', 'yaml'])).stdout).toContain('big: 12345678901234567890123\n');
  });

  it('control characters in free text are shown escaped', async () => {
    await audit(
      ['publish', '-f', '-'],
      '{"resource":{"name":"esc"},"action":{"type":"go"},"result":{"status":"OK","message":"\\u001b[2J\\u0085\\u202e"}}',
    );
    for (const format of ['text', 'json', 'yaml']) {
      const { stdout } = await audit(['list', '--resource-name', 'esc', '-o', format]);
      expect(stdout).toContain('go');
      expect(stdout).not.toMatch(/[\u001b\u0085\u202e]/);
    }
  });

  it('names the lines that fail, publishes the others and ends with 1', async () => {
    const input =
      '{"resource":{"name":"part"}}\n{"resource":{}}\n{"resource":{"name":"part"},"nope":1}\nnonsense\n{"resource":{"name":"part"}}\n';
    const { code, stdout, stderr } = await audit(['publish', '-f', '-', '-o', 'json'], input);
    expect(code).toBe(1);
    const { items, succeeded, failed } = JSON.parse(stdout) as {
      items: { line: number; error?: unknown }[];
      succeeded: number;
      failed: number;
    };
    expect([succeeded, failed]).toEqual([2, 3]);
    expect(items.filter(({ error }) => error).map(({ line }) => line)).toEqual([2, 3, 4]);
    for (const line of [2, 3, 4]) expect(stderr).toContain(`error: line ${line}: `);
    expect(await names('--resource-name', 'part')).toHaveLength(2);
  });

  it('get tries all identifiers', async () => {
    const [id = ''] = (await audit(['publish', '--resource-name', 'got', '-o', 'names'])).stdout.split('\n');
    const { code, stdout, stderr } = await audit(['get', id, 'no-such-id', '..', id, '-o', 'names']);
    expect([code, stdout]).toEqual([1, `${id}\n${id}\n`]);
    expect(stderr).toContain('no-such-id: ');
    expect(stderr).toContain('..: ');
    expect((await audit(['get', id])).stdout).toContain(id);
  });

  it('filters combine; times bound the list', async () => {
    const publish = (...args: string[]) => audit(['publish', '--context', 'filtered', '--resource-name', 'f', ...args]);
    await publish('--action-type', 'a', '--event-time', '2024-01-01T00:00:00Z');
    await publish('--action-type', 'b', '--event-time', '2024-01-02T00:00:00Z', '--result-status', 'NO');
    await publish('--action-type', 'b', '--subject-email', 'ann@example.com');
    expect(await names('--context', 'filtered')).toHaveLength(3);
    expect(await names('--context', 'filtered', '--action-type', 'b')).toHaveLength(2);
    expect(await names('--resource-name', 'f', '--action-type', 'b', '--result-status', 'NO')).toHaveLength(1);
    expect(await names('--resource-name', 'f', '--subject-email', 'ann@example.com')).toHaveLength(1);
    for (const publisher of ['serviceaccount/admin', '/org/acme/serviceaccount/admin']) {
      expect(await names('--context', 'filtered', '--publisher', publisher)).toHaveLength(3);
    }
    expect(await names('--context', 'filtered', '--publisher', 'ann@example.com')).toHaveLength(0);
    expect(await names('--resource-name', 'f', '--from', '2024-01-01', '--to', '2024-01-02')).toHaveLength(1);
    expect(await names('--resource-name', 'f', '--since', '1h')).toHaveLength(1);
    expect(await names('--resource-name', 'f', '--until', '1d')).toHaveLength(2);
    const received = await names('--resource-name', 'f', '--order', 'received');
    expect(received).toEqual((await names('--resource-name', 'f')).reverse());
  });

  it('ends with 4 for an unknown key, and for a context without write permission', async () => {
    const { code, stderr } = await audit(['list', '--token', 'svc_unknown-key-0123456789']);
    expect([code, stderr]).toEqual([4, expect.stringContaining('unauthenticated')]);
    expect(stderr).not.toContain('svc_unknown-key-0123456789');
    expect((await audit(['publish', '--context', 'svc', '--resource-name', 'x'])).code).toBe(4);
  });
});
