import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { changesOf, edit, keptText, REFUSAL, type Refuse, serve, withoutComments } from './support/edit.js';
import { scriptedEditor } from './support/editor.js';
import { closeServers } from './support/scripted-server.js';
import { temporaryFolder } from './support/svc.js';

afterEach(closeServers);

describe('a text that is refused', () => {
  const BREAK = `sed -i 's/team: core/team: 7/' "$f"`;
  const REPAIR = `sed -i 's/team: 7/team: "7"/' "$f"`;
  const once: Refuse = (_, index) => (index === 0 ? REFUSAL : undefined);

  it('is shown again with the reason on top, which is never sent', async () => {
    const served = await serve({ refuse: once });
    const editor = scriptedEditor(BREAK, REPAIR);
    expect((await edit(served, editor)).code).toBe(0);
    const [first = '', second = ''] = editor.shown();
    expect(second).toMatch(
      /^# Refused: tags\.team: must be a string \(validation_failed, request r-1\)\n# .*\nname: devs\n/,
    );
    expect(withoutComments(second)).toBe(withoutComments(first).replace('core', '7'));
    expect(changesOf(served.server).map(({ body }) => body)).toEqual([{ tags: { team: 7 } }, { tags: { team: '7' } }]);
    expect(readdirSync(served.tmp)).toEqual([]);
  });

  it('is kept, not sent, when it comes back unchanged', async () => {
    const served = await serve({ refuse: once });
    const result = await edit(served, scriptedEditor(BREAK, ':'));
    expect([result.code, result.stdout]).toEqual([1, '']);
    expect(result.stderr).toContain('error: tags.team: must be a string (validation_failed, request r-1)');
    expect(keptText(result)).toContain('\n  team: 7\n');
    expect(changesOf(served.server)).toHaveLength(1);
    const [folder = ''] = readdirSync(served.tmp);
    expect([statSync(join(served.tmp, folder)).mode & 0o777, readdirSync(join(served.tmp, folder))]).toEqual([
      0o700,
      ['resource.yaml'],
    ]);
  });

  it('is not kept when the user empties it', async () => {
    const served = await serve({ refuse: once });
    const result = await edit(served, scriptedEditor(BREAK, ': > "$f"'));
    expect(result).toMatchObject({ code: 0, stderr: 'the text is empty: nothing was sent\n' });
    expect(readdirSync(served.tmp)).toEqual([]);
  });

  it('a reason cannot become a part of the text', async () => {
    const details = { fields: [{ pointer: '/tags/team', reason: 'no\ndescription: \u001b[2Jforged\r\nname: x' }] };
    const served = await serve({
      refuse: (_, index) => (index === 0 ? { ...REFUSAL, status: 409, details } : undefined),
    });
    const editor = scriptedEditor(BREAK, REPAIR);
    expect((await edit(served, editor)).code).toBe(0);
    expect(editor.shown()[1]).toMatch(/^# Refused: tags\.team: no\\ndescription: \\u001b\[2Jforged\\r\\nname: x /);
    expect(changesOf(served.server).at(-1)?.body).toEqual({ tags: { team: '7' } });
  });

  it('comments of the user stay where they are', async () => {
    const served = await serve({ refuse: once });
    const editor = scriptedEditor(`sed -i '1i # mine' "$f"; ${BREAK}; echo '# end' >> "$f"`, REPAIR);
    await edit(served, editor);
    expect(editor.shown()[1]).toMatch(/^# Refused: .*\n.*\n# mine\nname: devs\n(.*\n)*# end\n$/);
  });

  it.each([
    ['x: b: c', 'line 11: Nested mappings are not allowed'],
    ['description: x', 'line 11: duplicate key `description`'],
    ['--- {}', 'the text must be one document'],
    ['x: !!python/object:os.system ls', 'line 11: Unresolved tag'],
    ['x: &a [1]\ny: *a', 'line 12: replace the alias *a by its value'],
    ['x: 0x1F', 'line 11: write the number 0x1F as JSON does, or quote it'],
    ['x: .inf', 'line 11: write the number .inf'],
    ['? [a]\n: b', 'line 11: a key must be a text'],
    [`x: ${'['.repeat(100_000)}`, 'line 11: nested too deep'],
  ])('%#: what is not one YAML document that JSON could be is told with its line', async (line, message) => {
    const served = await serve();
    const addition = join(temporaryFolder(), 'addition');
    writeFileSync(addition, `${line}\n`);
    const editor = scriptedEditor(`cat '${addition}' >> "$f"`, ':');
    const result = await edit(served, editor);
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining(`error: ${message}`)]);
    expect(editor.shown()[1]).toContain(`# Refused: ${message}`);
    const number = Number(/line (\d+)/.exec(message)?.[1] ?? 0);
    if (number > 0) expect(line.split('\n').includes(keptText(result).split('\n')[number - 1] ?? '')).toBe(true);
    expect(changesOf(served.server)).toEqual([]);
  });

  it.each([
    ['[]', 'must be names with their values'],
    ['just text', 'must be names with their values'],
    ['null', 'must be names with their values'],
  ])('%s is no resource', async (text, message) => {
    const served = await serve();
    const result = await edit(served, scriptedEditor(`echo '${text}' > "$f"`, ':'), '--replace');
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(changesOf(served.server)).toEqual([]);
  });

  it('stops an unattended editor that keeps failing', async () => {
    const served = await serve({ refuse: () => REFUSAL });
    const add = 'echo "x$(date +%N): 1" >> "$f"';
    const result = await edit(served, scriptedEditor(add, add, add, add, add));
    expect([result.code, result.stderr]).toEqual([1, expect.stringContaining('tags.team: must be a string')]);
    expect(changesOf(served.server)).toHaveLength(3);
  });
});
