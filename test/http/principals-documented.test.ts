import { newOrg, type Org } from '../support/api.js';
import { undocumented } from '../support/documented.js';
import { type Mailbox, newUser, openMailbox } from '../support/mail.js';
import { startService, type TestService } from '../support/service.js';

let mailbox: Mailbox;
let service: TestService;
let org: Org;

beforeAll(async () => {
  mailbox = await openMailbox();
  service = await startService({ env: mailbox.env });
  org = await newOrg(service);
  await newUser(org, mailbox, 'ann@example.com');
});

afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

const EXPIRES = '2099-01-01T00:00:00Z';

test.each<[string, 'GET' | 'POST', string, object | undefined]>([
  ['User', 'GET', 'user/ann@example.com', undefined],
  ['UserList', 'GET', 'user', undefined],
  ['UserFound', 'POST', 'user/-query', { fetch: 'links' }],
  ['Invited', 'POST', 'user/-invite', { emails: ['ann@example.com', 'bob@example.com'], group: 'viewers' }],
  ['InvitationList', 'GET', 'invitation', undefined],
  ['ServiceAccount', 'GET', 'serviceaccount/admin', undefined],
  ['ServiceAccount', 'POST', 'serviceaccount', { name: 'robot' }],
  ['ServiceAccountList', 'GET', 'serviceaccount', undefined],
  ['IssuedKey', 'POST', 'serviceaccount/admin/-addKey', { description: 'x' }],
  ['IssuedKey', 'POST', 'serviceaccount/admin/-addKey', { description: 'x', expires: EXPIRES }],
])('a %s is answered as documented to %s %s', async (name, method, path, body) => {
  const url = `/org/${org.name}/${path}`;
  const { status, body: answer } = method === 'GET' ? await org.api.get(url) : await org.api.post(url, body as never);
  expect([status < 300, undocumented(name, answer)]).toEqual([true, []]);
});

test('an invitation and its acceptance are answered as documented', async () => {
  const accepted = await newUser(org, mailbox, 'cem@example.com');
  expect(undocumented('AcceptedUser', accepted.body)).toEqual([]);
  await org.api.post(`/org/${org.name}/user/-invite`, { emails: ['dan@example.com'] });
  const { items } = (await org.api.get(`/org/${org.name}/invitation`)).body;
  for (const { id } of items) {
    const { body } = await org.api.get(`/org/${org.name}/invitation/${id}`);
    expect(undocumented('Invitation', body)).toEqual([]);
  }
});

test.each([
  ['user/ann@example.com', 'User'],
  ['serviceaccount/admin', 'ServiceAccount'],
])('what is read at %s is documented as a replacement and a patch', async (path, name) => {
  const { body } = await org.api.get(`/org/${org.name}/${path}`);
  expect([undocumented(`${name}Replacement`, body), undocumented(`${name}Patch`, body)]).toEqual([[], []]);
  expect(undocumented(`${name}Patch`, { description: null, tags: { a: null } })).toEqual([]);
  expect(undocumented(`${name}Patch`, { other: 1 })).not.toEqual([]);
});
