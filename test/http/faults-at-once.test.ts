import { newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { type Mailbox, newUser, openMailbox } from '../support/mail.js';
import { Resources } from '../support/resources.js';
import { startService, type TestService } from '../support/service.js';

let mailbox: Mailbox;
let service: TestService;
let org: Org;

beforeAll(async () => {
  mailbox = await openMailbox();
  service = await startService({ env: mailbox.env });
  org = await newOrg(service);
  await newUser(org, mailbox, 'ann@example.com', { name: 'Ann' });
  await of('group').create({ name: 'crew' });
  await of('serviceaccount').create({ name: 'robot' });
  await of('policy').create({ name: 'rules', targetKind: 'group', target: 'all' });
  await of('domain').create({ name: 'shop.example.com', spec: {} });
});

afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

const of = (kind: string) => new Resources(org, kind);

/** What a body says of another resource, whatever the kind. */
const another = { kind: 'org', id: 'x', created: 'y', version: 'z' };
const OF_ANOTHER = ['/created', '/id', '/kind', '/version'];

const nobody = () => `/org/${org.name}/user/nobody@example.com`;
const RULES = { targetKind: 'group', target: 'all' };

describe.each<[string, string, () => object, string[]]>([
  ['user', 'ann@example.com', () => ({ email: 'e', idp: 'i', name: '' }), ['/email', '/idp', '/name']],
  ['group', 'crew', () => ({ origin: 'o', description: ' ', tags: [] }), ['/description', '/origin', '/tags']],
  [
    'group',
    'crew',
    () => ({ memberQuery: { kind: 'user', spec: { terms: [{ value: 1 }] } } }),
    ['/memberQuery/spec/terms/0'],
  ],
  ['serviceaccount', 'robot', () => ({ name: 'other', unknown: 1 }), ['/name', '/unknown']],
  ['policy', 'rules', () => ({ ...RULES, bindings: 1, origin: 'o' }), ['/bindings', '/origin']],
  ['domain', 'shop.example.com', () => ({ name: 'n', spec: { dnsMode: 'x' } }), ['/name', '/spec/dnsMode']],
])('a body of another %s', (kind, ref, faulty, places) => {
  test.each(['patch', 'put'] as const)(
    `is refused by %s with what is wrong with it besides: ${places}`,
    async (how) => {
      const { status, headers } = await of(kind).get(ref);
      const answer = await of(kind)[how](ref, { ...another, ...faulty() });

      expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
      expect([...new Set(pointers(answer))]).toEqual([...OF_ANOTHER, ...places].sort());
      const read = await of(kind).get(ref);
      expect([read.status, read.headers.get('etag')]).toEqual([status, headers.get('etag')]);
    },
  );
});

describe.each<[string, string, () => object, string[]]>([
  ['group', 'crew', () => ({ memberLinks: [nobody()] }), ['/memberLinks/0']],
  [
    'policy',
    'rules',
    () => ({ ...RULES, bindings: [{ permissions: ['invite'], principalLinks: [nobody()] }] }),
    ['/bindings/0/permissions/0', '/bindings/0/principalLinks/0'],
  ],
])('a body of another %s', (kind, ref, faulty, places) => {
  test.each(['patch', 'put'] as const)('is refused by %s with its links to what is not there', async (how) => {
    const answer = await of(kind)[how](ref, { id: 'x', created: 'y', ...faulty() });
    expect([answer.status, pointers(answer)]).toEqual([400, ['/created', '/id', ...places].sort()]);
  });
});

test('the settings of another audit context are refused with what is wrong with them besides', async () => {
  await org.publish({ resource: { name: 'x' } });
  const body = JSON.stringify({ ...another, name: 'other', retentionDays: 0, days: 1 });
  const type = { 'content-type': 'application/json' };
  const answer = await org.api.send<Refusal>('PUT', `${org.audit}/auditctx/app`, body, type);

  expect([answer.status, pointers(answer)]).toEqual([
    400,
    ['/created', '/days', '/id', '/kind', '/name', '/retentionDays', '/version'],
  ]);
});
