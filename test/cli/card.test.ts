import { answer, closeServers, scriptedServer } from './support/scripted-server.js';
import { svc } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

afterEach(closeServers);

const HOSTILE = 'a\u001b[2Jb\u0007c\u009b31md\u2028e\u202ef\rg\nh\ti';
const RAW = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e]/;

async function serve(item: object) {
  const { url } = await scriptedServer(({ url: path }, response) =>
    answer(response, 200, path.includes('/id/') ? { kind: 'auditevent', item, links: [] } : item),
  );
  return { SVC_ENDPOINT: url, SVC_ORG: 'acme', SVC_TOKEN: 'token', NO_COLOR: '1' };
}

const EVENT = {
  id: '01890a5d-ac96-774b-bcce-b302099a8057',
  eventTime: '2024-05-02T00:00:00.000Z',
  resource: { name: 'web', type: 'workload', data: { size: 1.1, 'a: b': ['x'] } },
  context: { org: 'acme', name: 'app' },
  subject: { email: 'ann@example.com' },
  action: { type: 'edit', data: { before: { tags: { team: 'a' } }, after: { tags: { team: 'b' } } } },
  result: { status: 'DENIED', message: 'who may not '.repeat(20).trim() },
  links: [{ rel: 'self', href: '/x' }],
};

describe('one event on a terminal', () => {
  withTerminal('is shown with all that it has, and the difference', async () => {
    const screen = await svcOnTerminal('audit get x --ts iso', await serve(EVENT));
    const lines = screen.split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^eventTime {2,}2024-05-02T00:00:00\.000Z$/),
        expect.stringMatching(/^result\.status {2,}DENIED$/),
        expect.stringMatching(/^subject\.email {2,}ann@example\.com$/),
        'resource.data',
        '  size: 1.1',
        '    - tags.team: "a"',
        '    + tags.team: "b"',
        expect.stringMatching(/^id {2,}01890a5d-ac96-774b-bcce-b302099a8057$/),
      ]),
    );
    expect(screen).not.toContain('links');
    // Long texts are wrapped beside their name.
    expect(lines.filter((line) => /may not/.test(line)).length).toBeGreaterThan(2);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
  });

  withTerminal('cannot steer the terminal, whatever it holds', async () => {
    const free = { [HOSTILE]: HOSTILE, list: [HOSTILE], deep: { [HOSTILE]: [{ [HOSTILE]: HOSTILE }] } };
    const event = {
      ...{ id: HOSTILE, eventTime: HOSTILE, [HOSTILE]: HOSTILE },
      resource: { name: HOSTILE, type: HOSTILE, data: free },
      context: { name: HOSTILE, publisher: { link: HOSTILE } },
      action: {
        type: HOSTILE,
        data: { before: { a: HOSTILE, memberLinks: [HOSTILE] }, after: { [HOSTILE]: HOSTILE } },
      },
      result: { status: HOSTILE, message: HOSTILE },
      memberLinks: [HOSTILE],
    };
    const screen = await svcOnTerminal('audit get x', await serve(event));
    expect(screen).not.toMatch(RAW);
    expect(screen).toContain('\\u001b[2Jb');
    expect(screen).toMatch(/code 0\n$/);
  });

  it('is a row in a pipe', async () => {
    const { stdout } = await svc(['audit', 'get', 'x'], { env: await serve(EVENT) });
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  });
});

withTerminal('one group on a terminal is shown with its members', async () => {
  const group = {
    ...{ kind: 'group', id: 'g', name: 'devs', description: 'devs', tags: { team: 'core' } },
    memberLinks: ['/org/acme/user/ann@example.com', '/org/acme/serviceaccount/ci'],
  };
  const lines = (await svcOnTerminal('group get devs', await serve(group))).split('\n');
  expect(lines[0]).toMatch(/^name +devs$/);
  expect(lines).toEqual(
    expect.arrayContaining(['tags', '  team: core', 'memberLinks', '  ann@example.com', '  serviceaccount/ci']),
  );
});
