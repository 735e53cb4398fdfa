import { copyFileSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { changesOf, editOnTerminal, serve } from './support/edit.js';
import { scriptedEditor } from './support/editor.js';
import { closeServers } from './support/scripted-server.js';
import { svc, temporaryFolder } from './support/svc.js';
import { svcOnTerminal, withTerminal } from './support/terminal.js';

const CHANGE = `sed -i 's/who writes it/new/' "$f"`;
const SENT = [{ body: { description: 'new' } }];

/** The same program at a path that a shell would split and expand. */
function oddlyNamed(program: string): string {
  const path = join(temporaryFolder(), "my $(touch pwned) ed'itor");
  copyFileSync(program, path);
  return path;
}

afterEach(closeServers);

describe('the editor', () => {
  const run = async (env: Record<string, string>) => {
    const served = await serve();
    const result = await svc(['group', 'edit', 'devs', '-o', 'names'], { env: { ...served.env, ...env } });
    return { ...result, changes: changesOf(served.server), left: readdirSync(served.tmp) };
  };

  it('is EDITOR, or VISUAL if EDITOR is unset or empty', async () => {
    const editor = scriptedEditor(CHANGE, CHANGE, CHANGE);
    const other = scriptedEditor('exit 1');
    expect((await run({ EDITOR: editor.program, VISUAL: other.program })).changes).toMatchObject(SENT);
    expect((await run({ VISUAL: editor.program })).changes).toMatchObject(SENT);
    expect((await run({ EDITOR: ' ', VISUAL: editor.program })).changes).toMatchObject(SENT);
    expect(other.shown()).toEqual([]);
  });

  it('receives its options split as a shell would', async () => {
    const { program } = scriptedEditor(CHANGE);
    const path = oddlyNamed(program);
    const quoted = `"${path.replace('$', '\\$')}" --wait ''`;
    expect((await run({ EDITOR: quoted })).changes).toMatchObject(SENT);
  });

  it('is not run by a shell: nothing in it is expanded', async () => {
    const marker = join(temporaryFolder(), 'pwned');
    for (const EDITOR of [
      `:; touch ${marker}`,
      `$(touch ${marker})`,
      `true && touch ${marker}`,
      `true | tee ${marker}`,
    ]) {
      await run({ EDITOR });
    }
    expect(readdirSync(dirname(marker))).toEqual([]);
  });

  it.each([
    [{ EDITOR: '/no/such/editor --wait' }, 1, 'cannot run the editor `/no/such/editor`: there is no such program'],
    [{ EDITOR: '/etc' }, 1, 'cannot run the editor `/etc`: '],
    [{ EDITOR: 'vi "x' }, 2, 'a quote of EDITOR is not closed: `vi "x`'],
    [{}, 1, 'there is no terminal to run vi on'],
  ])('%j cannot be used, and that is said', async (env, exit, message) => {
    const { code, stdout, stderr, left, changes } = await run(env as Record<string, string>);
    expect([code, stdout, left, changes]).toEqual([exit, '', [], []]);
    expect(stderr).toContain(`error: ${message}`);
    if (exit === 1) expect(stderr).toContain('\n  EDITOR names the program to edit with');
  });
});

describe('on a terminal', () => {
  withTerminal('vi is the editor where no other is named', async () => {
    const { program } = scriptedEditor(CHANGE);
    const bin = join(temporaryFolder(), 'bin');
    mkdirSync(bin);
    symlinkSync(program, join(bin, 'vi'));
    const served = await serve();
    const screen = await svcOnTerminal('group edit devs -o names', {
      ...served.env,
      PATH: `${bin}:${process.env.PATH}`,
    });
    expect(screen).toBe('devs\ncode 0\n');
    expect(changesOf(served.server)).toMatchObject(SENT);
  });

  withTerminal('the editor has the terminal, also where standard output goes elsewhere', async () => {
    const served = await serve();
    const check = `[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && ${CHANGE}`;
    expect(await editOnTerminal(served, scriptedEditor(check))).toContain('code 0');
    const file = join(served.tmp, 'out');
    const screen = await editOnTerminal(
      served,
      scriptedEditor(`${check}; echo drawn`),
      `> '${file}'`,
      `; cat '${file}'`,
    );
    expect(screen).toBe('drawn\ndevs\ncode 0\n');
  });

  withTerminal('Ctrl-C is for the editor while it runs', async () => {
    const served = await serve();
    const script = `trap 'heard=1' INT; printf 'Key: '; while [ -z "$heard" ]; do sleep 0.05; done; ${CHANGE}`;
    const screen = await editOnTerminal(served, scriptedEditor(script), '', '', '\u0003');
    // The shell around it ends by Ctrl-C: there is no exit code to see.
    expect(screen).toContain('devs\n');
    expect(changesOf(served.server)).toMatchObject(SENT);
  });

  withTerminal('Ctrl-C ends svc while it sends, and the text is kept', async () => {
    const served = await serve({ hangs: true });
    // --debug shows the change when it is sent: that is when the key is typed.
    const editor = scriptedEditor(`sed -i 's/who writes it/"Key: "/' "$f"`);
    const screen = await editOnTerminal(served, editor, '--debug', '', '\u0003');
    expect(screen).toMatch(/the text is kept in \S+\ncode 130\n$/);
    expect(screen).not.toContain('\ndevs\n');
  });
});
