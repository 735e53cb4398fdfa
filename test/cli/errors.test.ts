import { fieldName } from '../../src/cli/output/fields.js';
import { type Client, newClient, openHouse, type TestHouse } from './support/org.js';
import { svc } from './support/svc.js';

let house: TestHouse;
let client: Client;

beforeAll(async () => {
  house = await openHouse();
  client = await newClient(house);
  await client.run(['group', 'create', '--name', 'devs']);
  await client.run(['serviceaccount', 'create', '--name', 'ci']);
});
afterAll(() => house.close());

describe('an error names the option that is at fault, and says it once', () => {
  it.each([
    [['group', 'create', '--name', 'Bad Name'], '--name Bad Name: must match'],
    [
      ['group', 'create', '--name', 'x1', '--description', 'd'.repeat(251)],
      `--description ${'d'.repeat(60)}…: may have`,
    ],
    [['group', 'add-member', 'devs', '--email', 'no@example.com'], '--email no@example.com: no such user in '],
    [['group', 'add-member', 'devs', '--serviceaccount', 'no'], '--serviceaccount no: no such service account in '],
    [['user', 'invite', '--email', 'a@example.com', '--email', 'nobody'], '--email nobody: must be an e-mail address'],
    [['group', 'update', 'devs', '--set', 'memberLinks=user/no@example.com'], '--set memberLinks='],
  ])('svc %j', async (args, message) => {
    const { code, stderr } = await client.run(args);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`error: ${message}`)]);
    expect(stderr).not.toMatch(/(^|\s)\/\w+/m);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  it('lists several, a line each', async () => {
    const { stderr } = await client.run(['group', 'create', '--name', 'A', '--description', 'd'.repeat(251)]);
    expect(stderr).toMatch(
      /^error: there are 3 faults \(validation_failed, .*\)\n( {2}--name A: must .*\n){2} {2}--description d+…: /,
    );
  });

  it.each([
    ['/bindings/1/permissions/0', [], 'bindings[1].permissions[0]'],
    ['/tags/a~1b', [], 'tags.a/b'],
    ['', [], 'the body'],
    ['?pageSize', [{ name: '--page-size', value: '0' }], '--page-size 0'],
    ['/resource/name', [{ name: '--resource-name', value: 'x' }], '--resource-name x'],
    [
      '/tags/b',
      [
        { name: '--tag', value: 'a=1' },
        { name: '--tag', value: 'b=2' },
      ],
      '--tag b=2',
    ],
    [
      '/emails/1',
      [
        { name: '--email', value: 'a' },
        { name: '--email', value: 'b' },
      ],
      '--email b',
    ],
  ])('%s with %j is %s', (pointer, given, name) => {
    expect(fieldName(pointer, given)).toBe(name);
  });
});

describe('who may not', () => {
  it('is named with the permission and the target', async () => {
    const { key } = await client.json<{ key: string }>('serviceaccount', 'add-key', 'ci', '--description', 'x');
    const { code, stderr } = await client.run(['group', 'delete', 'devs', '--yes', '--token', key]);
    expect([code, stderr]).toEqual([4, expect.stringContaining('serviceaccount/ci lacks "delete" on group/devs')]);
  });

  it('is told to log in, with a key that is unknown and without one', async () => {
    const unknown = await client.run(['group', 'get', '--token', 'svc_unknown_key']);
    expect([unknown.code, unknown.stderr.match(/svc login/g)]).toEqual([4, ['svc login']]);
    expect(unknown.stderr).toContain('unknown, expired or revoked');
    const { code, stderr } = await svc(['group', 'get', '--org', 'acme']);
    expect([code, stderr]).toEqual([
      ...[4, 'error: not logged in\n  log in with `svc login`, or give a key with --token or SVC_TOKEN\n'],
    ]);
    expect(await svc(['group', 'get'])).toMatchObject({ stderr: expect.stringContaining('svc login') });
  });
});
