import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { type Client, newClient, openHouse, type TestHouse } from './support/org.js';
import { temporaryFolder } from './support/svc.js';

let house: TestHouse;
let client: Client;

beforeAll(async () => {
  house = await openHouse();
});
afterAll(() => house.close());

let team: string;

beforeEach(async () => {
  client = await newClient(house);
  team = teamOf(client.org.name);
});

const apply = (input: string, ...more: string[]) => client.run(['apply', '-f', '-', ...more], { input });

const teamOf = (org: string) => `kind: policy
name: deployers
targetKind: domain
target: all
bindings:
  - permissions: [edit]
    principalLinks: [/org/${org}/group/devs]
tags: {team: core}
---
kind: group
name: devs
description: who writes it
memberLinks: [/org/${org}/serviceaccount/ci]
tags: {team: core, floor: "3"}
---
kind: serviceaccount
name: ci
tags: {team: core}
`;

/** Members of the documents that the definition in `infra/crds` does not have. */
function undefinedMembers(kind: string, documents: string): string[] {
  const definition = parse(readFileSync(`infra/crds/${kind}.yaml`, 'utf8'));
  const { properties } = definition.spec.versions[0].schema.openAPIV3Schema.properties.spec;
  const all = parseAllDocuments(documents).flatMap((document) => Object.keys(document.toJS().spec));
  return all.filter((name) => !Object.hasOwn(properties, name));
}

describe('svc apply', () => {
  it('creates what does not exist, what others name first, and changes nothing the second time', async () => {
    const first = await apply(team);
    expect(first).toEqual({
      code: 0,
      stdout: 'serviceaccount/ci created\ngroup/devs created\npolicy/deployers created\n',
      stderr: '3 created, 0 updated, 0 unchanged, 0 failed\n',
    });
    const before = await client.json<{ version: number }>('group', 'get', 'devs');
    const second = await apply(team);
    expect([second.code, second.stderr]).toEqual([0, '0 created, 0 updated, 3 unchanged, 0 failed\n']);
    expect(await client.json('group', 'get', 'devs')).toEqual(before);
  });

  it.each(['yaml', 'json', 'crd', 'yaml-slim', 'json-slim'])('takes back what get -o %s wrote', async (format) => {
    await apply(team);
    const domain = ['domain', 'create', '--name', `www.${client.org.name}.example.com`, '-f', '-'];
    const spec = '{"spec":{"dnsMode":"cname","ports":[{"number":443,"protocol":"http2"}]}}';
    expect((await client.run(domain, { input: spec })).code).toBe(0);
    for (const kind of ['group', 'serviceaccount', 'policy', 'domain']) {
      const { stdout: all } = await client.run([kind, 'get', '-o', format, '--max', '0']);
      if (format === 'crd') expect(undefinedMembers(kind, all)).toEqual([]);
      const { code, stdout, stderr } = await apply(all);
      expect([kind, code, stderr]).toEqual([
        kind,
        0,
        expect.stringMatching(/^0 created, 0 updated, \d+ unchanged, 0 failed\n$/),
      ]);
      expect(stdout).toMatch(/ unchanged\n/);
    }
    // One alone, in the form in which it is shown alone, in another organization.
    const { stdout: one } = await client.run(['serviceaccount', 'get', 'ci', '-o', format]);
    const other = await newClient(house);
    expect(await other.run(['apply', '-f', '-'], { input: one })).toMatchObject({
      stdout: 'serviceaccount/ci created\n',
    });
  });

  it('updates what a document has, leaves what it does not have, and makes tags exactly its own', async () => {
    await apply(team);
    const { code, stdout } = await apply('{"kind":"group","name":"devs","tags":{"team":"edge"}}');
    expect([code, stdout]).toEqual([0, 'group/devs updated\n']);
    const group = await client.json('group', 'get', 'devs');
    expect(group).toMatchObject({ description: 'who writes it', tags: { team: 'edge' } });
    expect(group).toHaveProperty('memberLinks', [`/org/${client.org.name}/serviceaccount/ci`]);
    expect(group).not.toHaveProperty('tags.floor');
  });

  it('only shows what would change with --dry-run', async () => {
    await apply(team);
    const changed = team.replace('who writes it', 'who ships it').replace('name: ci', 'name: cd');
    const { code, stdout, stderr } = await apply(changed, '--dry-run');
    expect(code).toBe(0);
    expect(stdout).toContain(
      'group/devs would be updated\n    - description: "who writes it"\n    + description: "who ships it"\n',
    );
    expect(stdout).toContain('serviceaccount/cd would be created\n    + name: "cd"\n');
    expect(stdout).toContain('policy/deployers unchanged\n');
    expect(stderr).toBe('nothing was changed; it would be: 1 created, 1 updated, 1 unchanged, 0 failed\n');
    expect(await client.json('group', 'get', 'devs')).toMatchObject({ description: 'who writes it' });
    expect((await client.run(['serviceaccount', 'get', 'cd'])).code).toBe(1);
  });

  it('goes on after a refusal, says which document it was, and prunes nothing then', async () => {
    await apply(team);
    const broken =
      'kind: group\nname: devs\ncolour: blue\n---\nkind: user\nname: Ann\nemail: ann@example.com\n---\nkind: group\nname: ops\n';
    const { code, stdout, stderr } = await apply(broken, '--prune', 'team=core');
    expect([code, stdout]).toEqual([1, 'group/ops created\n']);
    expect(stderr).toContain('error: group/devs: colour: is not a known field; remove it');
    expect(stderr).toContain(
      'error: user/ann@example.com: standard input, document 2: there is no such user\n  users are invited',
    );
    expect(stderr).toContain('nothing was pruned');
    expect(stderr).toContain('1 created, 0 updated, 0 unchanged, 0 deleted, 2 failed\n');
    expect((await client.run(['group', 'get', 'devs'])).code).toBe(0);
  });

  it('prunes what has the tag and is in no file; not users, not what is built in, nothing with --dry-run', async () => {
    await apply(team);
    await apply('kind: group\nname: others\ntags: {team: edge}\n');
    const [, devs = ''] = team.split('---\n');
    const shown = await apply(
      devs.replace(/memberLinks.*\n/, 'memberLinks: []\n'),
      '--prune',
      'team=core',
      '--dry-run',
    );
    expect(shown.stdout).toMatch(/^policy\/deployers would be deleted\n {4}- name/m);
    expect((await client.run(['policy', 'get', 'deployers'])).code).toBe(0);
    const { code, stdout, stderr } = await apply(
      devs.replace(/memberLinks.*\n/, 'memberLinks: []\n'),
      '--prune',
      'team=core',
    );
    expect([code, stdout]).toEqual([0, 'group/devs updated\npolicy/deployers deleted\nserviceaccount/ci deleted\n']);
    expect(stderr).toBe('0 created, 1 updated, 0 unchanged, 2 deleted, 0 failed\n');
    expect((await client.run(['group', 'get', 'others', 'superusers', '-o', 'names'])).stdout).toBe(
      'others\nsuperusers\n',
    );
  });

  it('reads folders, several files and JSON lines', async () => {
    const folder = join(temporaryFolder(), 'access');
    mkdirSync(join(folder, 'within'), { recursive: true });
    writeFileSync(join(folder, 'b.yaml'), 'kind: group\nname: bb\n');
    writeFileSync(join(folder, 'a.json'), '[{"kind":"group","name":"aa"},{"kind":"group","name":"ab"}]');
    writeFileSync(join(folder, 'c.ndjson'), '{"kind":"group","name":"ca"}\n{"kind":"group","name":"cb"}\n');
    writeFileSync(join(folder, 'README.md'), 'no document');
    const { code, stdout } = await client.run(['apply', '-f', folder, '-f', '-', '-o', 'names'], {
      input: 'kind: group\nname: dd\n',
    });
    expect([code, stdout]).toEqual([0, ['aa', 'ab', 'bb', 'ca', 'cb', 'dd'].map((name) => `group/${name}\n`).join('')]);
  });

  it.each([
    ['kind: gadget\nname: x\n', 'kind is missing, or not one of'],
    ['name: x\n', 'kind is missing, or not one of'],
    ['kind: group\n', 'name is missing; it names the group'],
    ['- 1\n', 'is no object'],
    [
      'kind: group\nname: aa\n---\nkind: group\nname: aa\n',
      'document 2: group/aa is declared before, in standard input, document 1',
    ],
    ['apiVersion: v1\nkind: group\nmetadata: {name: aa}\n', 'apiVersion is "v1", not control.svc.dev/v1'],
    ['kind: [\n', 'standard input, line 2: '],
    ['kind: &a group\nname: *a\n', 'replace the alias'],
  ])('sends nothing of %j', async (input, message) => {
    const { code, stdout, stderr } = await apply(`kind: group\nname: before\n---\n${input}`);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(
      message
        .replace('document 2', 'document 3')
        .replace(/document 1$/, 'document 2')
        .replace('line 2', 'line 5'),
    );
    expect((await client.run(['group', 'get', 'before'])).code).toBe(1);
  });

  it('refuses a prune without a tag, and a folder without files', async () => {
    expect(await apply('kind: group\nname: aa\n', '--prune', 'team')).toMatchObject({ code: 2 });
    const { code, stderr } = await client.run(['apply', '-f', temporaryFolder()]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('has no files that end with .yaml')]);
  });

  it('tries again when somebody else changes the resource at the same time', async () => {
    await apply(team);
    const changes = Array.from({ length: 4 }, (_, at) => apply(`kind: group\nname: devs\ndescription: by ${at}\n`));
    for (const { code, stderr } of await Promise.all(changes)) expect([code, stderr]).toEqual([0, expect.any(String)]);
  });
});
