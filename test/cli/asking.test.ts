import { setTimeout as delay } from 'node:timers/promises';
import { answer, closeServers, type ScriptedServer, scriptedServer } from './support/scripted-server.js';
import { svc } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

let server: ScriptedServer;
let env: Record<string, string>;
const deletions = () => server.seen.filter(({ method }) => method === 'DELETE').length;

beforeEach(async () => {
  server = await scriptedServer((_, response) => answer(response, 204, ''));
  env = { SVC_ENDPOINT: server.url, SVC_ORG: 'acme', SVC_TOKEN: 'a-token' };
});
afterEach(closeServers);

describe('a deletion', () => {
  withTerminal('asks on a terminal, and is done only for y or yes', async () => {
    const ask = (keys: string, args = 'group delete devs') => svcOnTerminal(args, env, keys, '[y/N] ');
    for (const no of ['n\r', '\r', 'yesterday\r', '\u0004']) {
      const screen = await ask(no);
      expect(screen).toContain('delete group devs of acme? [y/N] ');
      expect(screen).toContain('not confirmed: nothing was changed');
      expect(screen).toContain('code 1');
    }
    expect(await ask('\u0003')).toContain('code 130');
    expect(deletions()).toBe(0);
    expect(await ask('y\r')).toContain('deleted devs');
    expect(await ask('YES\r', 'user delete ann@example.com bob@example.com')).toContain(
      'delete 2 users: ann@example.com, bob@example.com of acme? [y/N] ',
    );
    expect(deletions()).toBe(3);
  });

  withTerminal('does not ask with --yes', async () => {
    expect(await svcOnTerminal('group delete devs --yes', env)).not.toContain('[y/N]');
    expect(deletions()).toBe(1);
  });

  it('does not ask without a terminal', async () => {
    const { code, stderr } = await svc(['group', 'delete', 'devs'], { env });
    expect([code, stderr, deletions()]).toEqual([0, 'deleted devs\n', 1]);
  });

  withTerminal('draws nothing on a dumb terminal', async () => {
    const screen = await svcOnTerminal('group delete devs', { ...env, TERM: 'dumb' }, 'y\r', '[y/N] ');
    expect(screen).toContain('deleted devs');
    expect(screen).not.toContain('\u001b');
  });
});

it('--quiet leaves out remarks and keeps errors', async () => {
  expect(await svc(['group', 'delete', 'devs', '--quiet'], { env })).toEqual({ code: 0, stdout: '', stderr: '' });
  const failed = await svc(['-q', 'group', 'gte'], { env });
  expect([failed.code, failed.stderr]).toEqual([2, expect.stringContaining('did you mean `get`')]);
});

describe('--timeout', () => {
  it('ends a call that takes longer, its retries included, and says so', async () => {
    const busy = await scriptedServer((_, response, index) => {
      if (index === 0) answer(response, 503, { message: 'the log is down' }, { 'retry-after': '0.05' });
      else delay(60_000, undefined, { ref: false }).then(() => response.destroy());
    });
    const began = Date.now();
    const { code, stdout, stderr } = await svc(['group', 'get', 'devs', '--timeout', '500ms'], {
      env: { ...env, SVC_ENDPOINT: busy.url },
    });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`GET /org/acme/group/devs at ${busy.url} took longer than 500 ms`);
    expect(stderr).toContain('--timeout');
    expect(Date.now() - began).toBeLessThan(30_000);
    expect(busy.seen).toHaveLength(2);
  });

  it.each(['5', '0s', 'soon', '100d'])('%j is refused before anything is sent', async (timeout) => {
    const { code, stderr } = await svc(['group', 'get', '--timeout', timeout], { env });
    expect([code, stderr, server.seen]).toEqual([2, expect.stringContaining('--timeout is a span'), []]);
  });
});
