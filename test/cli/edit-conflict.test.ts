import { readdirSync } from 'node:fs';
import {
  changesOf,
  DEVS,
  edit,
  editOnTerminal,
  keptText,
  type Refuse,
  STALE,
  serve,
  withoutComments,
} from './support/edit.js';
import { scriptedEditor } from './support/editor.js';
import { answer, closeServers, scriptedServer } from './support/scripted-server.js';
import { svc } from './support/svc.js';
import { withTerminal } from './support/terminal.js';

const [ANN, CI] = DEVS.memberLinks;
const BOB = '/org/acme/user/bob@example.com';
const EVE = '/org/acme/user/eve@example.com';
const NEWEST = {
  ...DEVS,
  version: 5,
  description: 'theirs',
  tags: { tier: '1', 'a.b\u001b': 'new\nname: forged' },
  memberLinks: [ANN, CI, BOB],
};
/** Changes the description and a member. */
const CHANGE = `sed -i 's/who writes it/mine/; s!${CI}!${EVE}!' "$f"`;

const once: Refuse = (_, index) => (index === 0 ? STALE : undefined);

afterEach(closeServers);

describe('svc group edit, when somebody else changed the group meanwhile', () => {
  withTerminal('puts the changes into the newest version, shows both, and sends that', async () => {
    const served = await serve({ refuse: once, newest: JSON.stringify(NEWEST) });
    const editor = scriptedEditor(CHANGE, ':');
    const screen = await editOnTerminal(served, editor);
    expect(screen).toContain('the group devs was changed by somebody else meanwhile: version 3 is now 5\n');
    expect(screen).toContain('\ndevs\ncode 0');
    expect(editor.shown()[1]).toMatch(
      new RegExp(
        [
          '^# the group devs was changed by somebody else meanwhile: version 3 is now 5. Changed there:',
          '# {3}description: "theirs" \\(you changed it, too\\)',
          '# {3}tags.team: removed',
          '# {3}tags\\.a\\.b\\\\u001b: "new\\\\nname: forged"',
          '# {3}memberLinks: .*bob@example.com"\\] \\(you changed it, too\\)',
          '# Below is the newest version with your changes in it.*',
          'name: devs\n',
        ].join('\n'),
      ),
    );
    const memberLinks = [ANN, BOB, EVE];
    expect(changesOf(served.server)).toMatchObject([
      { version: '"3"', body: { description: 'mine', memberLinks: [ANN, EVE] } },
      { version: '"5"', body: { description: 'mine', memberLinks } },
    ]);
    expect(readdirSync(served.tmp)).toEqual([]);
  });

  withTerminal('with --replace sends the newest version with the changes in it', async () => {
    const served = await serve({ refuse: once, newest: JSON.stringify(NEWEST) });
    await editOnTerminal(served, scriptedEditor(CHANGE, ':'), '--replace');
    expect(changesOf(served.server)[1]).toMatchObject({
      method: 'PUT',
      version: '"5"',
      body: { name: 'devs', description: 'mine', tags: NEWEST.tags, memberLinks: [ANN, BOB, EVE] },
    });
  });

  withTerminal('leaves a list as it was put in order, where nobody else touched it', async () => {
    const served = await serve({ refuse: once, newest: JSON.stringify({ ...NEWEST, memberLinks: DEVS.memberLinks }) });
    await editOnTerminal(served, scriptedEditor(`sed -i '/ann@/d' "$f"; echo '  - ${ANN}' >> "$f"`, ':'));
    expect(changesOf(served.server)[1]).toMatchObject({ version: '"5"', body: { memberLinks: [CI, ANN] } });
  });

  withTerminal('can be given up by emptying the text', async () => {
    const served = await serve({ refuse: once, newest: JSON.stringify(NEWEST) });
    expect(await editOnTerminal(served, scriptedEditor(CHANGE, ': > "$f"'))).toContain(
      'the text is empty: nothing was sent\ncode 0',
    );
    expect(changesOf(served.server)).toHaveLength(1);
  });

  it('sends nothing without a person at the terminal, and keeps the text', async () => {
    const served = await serve({ refuse: once, newest: JSON.stringify(NEWEST) });
    const editor = scriptedEditor(CHANGE, ':');
    const result = await edit(served, editor);
    expect([result.code, result.stdout]).toEqual([1, '']);
    expect(result.stderr).toContain(
      'version 3 is now 5; nothing was sent\n  description: "theirs" (you changed it, too)\n',
    );
    expect(withoutComments(keptText(result))).toContain('description: mine\n');
    expect([editor.shown().length, changesOf(served.server).length]).toEqual([1, 1]);
  });

  it('ends when the newest version already has the changes', async () => {
    const served = await serve({
      refuse: once,
      newest: JSON.stringify({ ...DEVS, version: 4, description: 'mine', memberLinks: [ANN, EVE], tags: {} }),
    });
    const result = await edit(served, scriptedEditor(CHANGE));
    expect(result).toEqual({ code: 0, stdout: 'devs\n', stderr: '' });
    expect(readdirSync(served.tmp)).toEqual([]);
  });
});

it('makes a change once when its answer is lost', async () => {
  let group: object = DEVS;
  const { url, seen } = await scriptedServer((request, response) => {
    if (request.method === 'GET') return answer(response, 200, group);
    if (group !== DEVS) return answer(response, 412, STALE);
    group = { ...DEVS, description: 'mine', memberLinks: [ANN, EVE], version: 4 };
    response.destroy();
  });
  const env = { SVC_ENDPOINT: url, SVC_ORG: 'acme', SVC_TOKEN: 'token', EDITOR: scriptedEditor(CHANGE).program };
  const { code, stdout } = await svc(['group', 'edit', 'devs', '-o', 'json'], { env });
  expect([code, JSON.parse(stdout)]).toEqual([0, group]);
  expect(seen.map(({ method }) => method)).toEqual(['GET', 'PATCH', 'PATCH', 'GET']);
});
