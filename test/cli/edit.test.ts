import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { changesOf, DEVS, edit, keptText, serve } from './support/edit.js';
import { pause, scriptedEditor } from './support/editor.js';
import { closeServers } from './support/scripted-server.js';

afterEach(closeServers);

describe('svc group edit', () => {
  it('shows the editable members as YAML, in a private file that is removed afterwards', async () => {
    const served = await serve();
    const editor = scriptedEditor(`stat -c '%a %F' "$f" "$(dirname "$f")" > '${served.tmp}/modes'`);
    const { code, stdout, stderr } = await edit(served, editor);
    expect([code, stdout, stderr]).toEqual([0, '', 'nothing was changed: nothing was sent\n']);
    const { name, description, tags, memberLinks } = DEVS;
    expect(parse(editor.shown()[0] ?? '')).toEqual({ name, description, tags, memberLinks });
    expect(editor.shown()[0]).toMatch(/^# This is the group devs\..*\n# .*\nname: devs\n/);
    expect(readFileSync(join(served.tmp, 'modes'), 'utf8')).toBe('600 regular file\n700 directory\n');
    expect(readdirSync(served.tmp)).toEqual(['modes']);
  });

  it('sends the changed members, for the version that was read', async () => {
    const served = await serve();
    const result = await edit(
      served,
      scriptedEditor(
        `sed -i 's/who writes it/"new: # text"/; /tier/d; s/- .*ci$/- x/' "$f"; echo 'memberQuery: {kind: user}' >> "$f"`,
      ),
    );
    expect(result).toEqual({ code: 0, stdout: 'devs\n', stderr: '' });
    expect(changesOf(served.server)).toEqual([
      {
        method: 'PATCH',
        url: '/org/acme/group/devs',
        version: '"3"',
        body: {
          description: 'new: # text',
          tags: { tier: null },
          memberLinks: ['/org/acme/user/ann@example.com', 'x'],
          memberQuery: { kind: 'user' },
        },
      },
    ]);
    expect(readdirSync(served.tmp)).toEqual([]);
  });

  it.each(['--replace', '-r'])('%s sends the whole text', async (option) => {
    const served = await serve();
    const { code } = await edit(served, scriptedEditor(`sed -i '/tags/,/tier/d' "$f"`), option);
    const { name, description, memberLinks } = DEVS;
    expect([code, changesOf(served.server)]).toEqual([
      0,
      [{ method: 'PUT', url: '/org/acme/group/devs', version: '"3"', body: { name, description, memberLinks } }],
    ]);
  });

  it.each([
    ['is left as it is', ':', 'nothing was changed'],
    [
      'means the same',
      `sed -i 's/who writes it/"who writes it"  # really/; s/^tags/\\n\\ntags/' "$f"`,
      'nothing was changed',
    ],
    ['is emptied', ': > "$f"', 'the text is empty'],
    ['holds nothing but comments', `sed -i 's/^/  # /' "$f"`, 'the text is empty'],
  ])('sends nothing when the text %s', async (_, script, reason) => {
    const served = await serve();
    for (const options of [[], ['--replace']]) {
      const result = await edit(served, scriptedEditor(script), ...options);
      expect(result).toEqual({ code: 0, stdout: '', stderr: `${reason}: nothing was sent\n` });
    }
    expect(changesOf(served.server)).toEqual([]);
    expect(readdirSync(served.tmp)).toEqual([]);
  });

  it('removes a member without a value', async () => {
    const served = await serve();
    await edit(served, scriptedEditor(`sed -i 's/who writes it//' "$f"`));
    expect(changesOf(served.server)).toMatchObject([{ body: { description: null } }]);
  });
});

describe('what is edited stays what it is', () => {
  const HUGE = '123456789012345678901234567890.10';

  it('numbers keep every digit, edited or not', async () => {
    const group = JSON.stringify({ ...DEVS, limit: 0 }).replace('"limit":0', `"limit":${HUGE},"other":1e400`);
    const served = await serve({ group });
    await edit(served, scriptedEditor(`sed -i 's/: ${HUGE}/: ${HUGE}7/' "$f"`));
    expect(served.server.seen.at(-1)?.body).toBe(`{"limit":${HUGE}7}`);
  });

  it('control characters, marks of YAML and names that objects have anyway come back as they were', async () => {
    const tags = {
      'a\u001b[2J\u0000': 'x\u202ey\u2028z\u0085',
      '': '# no: comment',
      yes: 'no',
      '~': '- x',
      '1': '0x1F',
      b: ' x\n# y\n ',
      t: '---\n...\n',
    };
    const group = JSON.stringify({ ...DEVS, tags }).replace('"tags":{', '"tags":{"__proto__":"p",');
    const served = await serve({ group });
    const editor = scriptedEditor(`sed -i 's/who writes it/new/' "$f"`, ':');
    await edit(served, editor, '--replace');
    expect(editor.shown()[0]).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/);
    expect(JSON.parse(served.server.seen.at(-1)?.body ?? '')).toMatchObject({ description: 'new', tags });
    expect(served.server.seen.at(-1)?.body).toContain('"__proto__":"p"');
  });
});

describe('a text that cannot be sent is kept', () => {
  const CHANGE = `sed -i 's/who writes it/new/' "$f"`;

  it.each([
    [401, 'unauthenticated', 4],
    [403, 'forbidden', 4],
    [404, 'not_found', 1],
    [500, 'internal', 1],
  ])('when the service answers %d', async (status, code, exit) => {
    const served = await serve({ refuse: () => ({ status, code, message: 'no' }) });
    const editor = scriptedEditor(CHANGE);
    const result = await edit(served, editor);
    expect([result.code, result.stderr]).toEqual([exit, expect.stringContaining(`error: no (${code})`)]);
    expect(keptText(result)).toContain('description: new\n');
    expect(editor.shown()).toHaveLength(1);
  });

  it('when the service is gone', async () => {
    const served = await serve();
    const wait = pause();
    const running = edit(served, scriptedEditor(`${CHANGE}; ${wait.script}`));
    await wait.meanwhile(closeServers);
    const result = await running;
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining('nothing listens at')]);
    expect(keptText(result)).toContain('description: new\n');
  });

  it('when the editor fails; if nothing was changed there is nothing to keep', async () => {
    const served = await serve();
    const changed = await edit(served, scriptedEditor(`${CHANGE}; exit 3`));
    expect([changed.code, changed.stderr]).toEqual([1, expect.stringMatching(/ended with 3: nothing was sent\n$/)]);
    expect(keptText(changed)).toContain('description: new\n');
    const killed = await edit(served, scriptedEditor('kill -9 $$'));
    expect([killed.code, killed.stderr]).toEqual([
      1,
      expect.stringMatching(/^error: the editor .* ended with SIGKILL: nothing was sent\n$/),
    ]);
    expect(readdirSync(served.tmp)).toHaveLength(1);
    expect(changesOf(served.server)).toEqual([]);
  });

  it.each([
    [
      'is larger than any resource',
      `head -c 600000 /dev/zero | tr '\\0' 'x' >> "$f"`,
      'the text is larger than 512 KiB',
    ],
    ['is not UTF-8', `printf 'x: \\377\\n' >> "$f"`, 'the text is not UTF-8'],
  ])('when it %s', async (_, script, message) => {
    const served = await serve();
    const result = await edit(served, scriptedEditor(script));
    expect([result.code, result.stderr]).toEqual([
      1,
      expect.stringMatching(new RegExp(`the text is kept in \\S+\nerror: ${message}\n`)),
    ]);
    expect(changesOf(served.server)).toEqual([]);
  });

  it('is not kept when the editor removed it', async () => {
    const served = await serve();
    const result = await edit(served, scriptedEditor('rm "$f"'));
    expect([result.code, result.stderr]).toEqual([1, expect.stringMatching(/^error: the editor left no file/)]);
    expect(readdirSync(served.tmp)).toEqual([]);
  });
});
