import { newOrg, type Org } from '../support/api.js';
import { type Mailbox, newUser, openMailbox } from '../support/mail.js';
import { Resources } from '../support/resources.js';
import { startService, type TestService } from '../support/service.js';
import { pause, type ScriptedEditor, scriptedEditor } from './support/editor.js';
import { svc, temporaryFolder } from './support/svc.js';

/** The client against the real service. */
describe('svc edit', () => {
  let mailbox: Mailbox;
  let service: TestService;
  let org: Org;
  const tmp = temporaryFolder();
  const of = (kind: string) => new Resources(org, kind);
  const edit = (kind: string, ref: string, editor: ScriptedEditor, ...more: string[]) =>
    svc([kind, 'edit', ref, '-o', 'json', ...more], {
      env: { SVC_ENDPOINT: service.url, SVC_ORG: org.name, SVC_TOKEN: org.key, EDITOR: editor.program, TMPDIR: tmp },
    });

  beforeAll(async () => {
    mailbox = await openMailbox();
    service = await startService({ env: mailbox.env });
    org = await newOrg(service);
    await newUser(org, mailbox, 'ann@example.com', { name: 'Ann A.' });
    const created = [
      await of('serviceaccount').create({ name: 'ci' }),
      await of('group').create({ name: 'devs', memberLinks: [`/org/${org.name}/user/ann@example.com`] }),
      await of('policy').create({
        name: 'deployers',
        targetKind: 'group',
        target: 'all',
        bindings: [{ permissions: ['view'], principalLinks: [`/org/${org.name}/group/devs`] }],
      }),
      await of('domain').create({ name: 'www.example.com', spec: { dnsMode: 'cname', certChallengeType: 'http01' } }),
    ];
    expect(created.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  });

  afterAll(async () => {
    await service.remove();
    await mailbox.close();
  });

  it.each([
    ['user', 'ann@example.com'],
    ['group', 'devs'],
    ['serviceaccount', 'ci'],
    ['policy', 'deployers'],
    ['domain', 'www.example.com'],
  ])('changes a %s, by merging and by replacing', async (kind, ref) => {
    const { body: before } = await of(kind).get(ref);
    const merged = await edit(kind, ref, scriptedEditor(`sed -i 's/^description:.*/description: merged/' "$f"`));
    expect([merged.code, merged.stderr]).toEqual([0, '']);
    expect(JSON.parse(merged.stdout)).toMatchObject({ kind, description: 'merged', version: before.version + 1 });
    const replaced = await edit(kind, ref, scriptedEditor(`sed -i 's/merged/replaced/' "$f"`), '--replace');
    expect([replaced.code, replaced.stderr]).toEqual([0, '']);
    const { body: after } = await of(kind).get(ref);
    expect(JSON.parse(replaced.stdout)).toEqual(after);
    const { lastModified } = after;
    expect(after).toEqual({ ...before, description: 'replaced', version: before.version + 2, lastModified });
  });

  it('removes a deleted member; with --replace it gets its default', async () => {
    await of('group').create({ name: 'ops', description: 'who runs it', tags: { a: '1', b: '2' } });
    await edit('group', 'ops', scriptedEditor(`sed -i '/  a:/d' "$f"`));
    expect((await of('group').get('ops')).body.tags).toEqual({ b: '2' });
    await edit('group', 'ops', scriptedEditor(`sed -i '/^description/d' "$f"`), '--replace');
    expect((await of('group').get('ops')).body.description).toBe('ops');
  });

  it('shows each fault that the service finds, and continues when they are corrected', async () => {
    const editor = scriptedEditor(
      `printf 'colour: blue\\n' >> "$f"; sed -i 's/^description:.*/description: 7/' "$f"`,
      `sed -i '/colour/d; s/^description:.*/description: seven/' "$f"`,
    );
    const { code, stderr } = await edit('group', 'devs', editor);
    expect([code, stderr]).toEqual([0, '']);
    const [, second = ''] = editor.shown();
    for (const field of ['description: ', 'colour: ']) expect(second).toContain(`\n#   ${field}`);
    expect((await of('group').get('devs')).body.description).toBe('seven');
  });

  it.each([
    ['changes the name', `sed -i 's/^name:.*/name: other/' "$f"`, 'name: cannot be changed'],
    ['sets a built-in tag', `sed -i 's/^tags:.*/tags: {svc\\/x: "1"}/' "$f"`, 'tags beginning with svc/'],
    ['names a member that is not there', `sed -i 's!^memberLinks:.*!memberLinks: [user/no]!' "$f"`, 'memberLinks[0]'],
  ])('cannot be talked into what the service refuses: %s', async (_, script, message) => {
    await of('group').create({ name: 'qa' });
    const { body: before } = await of('group').get('qa');
    const { code, stderr } = await edit('group', 'qa', scriptedEditor(script, ':'));
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect((await of('group').get('qa')).body).toEqual(before);
  });

  it('keeps a member that somebody else adds meanwhile', async () => {
    const link = (name: string) => `/org/${org.name}/serviceaccount/${name}`;
    for (const name of ['one', 'two']) await of('serviceaccount').create({ name });
    await of('group').create({ name: 'both', memberLinks: [link('ci')] });
    const wait = pause();
    const running = edit('group', 'both', scriptedEditor(`printf '  - ${link('two')}\\n' >> "$f"; ${wait.script}`));
    await wait.meanwhile(() => of('group').patch('both', { memberLinks: { $append: [link('one')] } }));
    const { code, stderr } = await running;
    expect([code, stderr]).toEqual([1, expect.stringContaining('version 1 is now 2; nothing was sent')]);
    expect((await of('group').get('both')).body.memberLinks).toEqual([link('ci'), link('one')]);
  });

  it('does not open the editor for a missing resource', async () => {
    const editor = scriptedEditor(':');
    const { code, stderr } = await edit('group', 'none', editor);
    expect([code, stderr, editor.shown()]).toEqual([1, expect.stringContaining('not_found'), []]);
  });
});
