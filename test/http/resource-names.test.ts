import { newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
});

afterAll(() => service.remove());

const NAMES = [
  'plain',
  '/leading',
  'trailing/',
  '/both/',
  'double//slash',
  '//',
  '/',
  'a/./b',
  'a/../b',
  '../up',
  'arn:aws:s3:::bucket/key:1',
  'with space',
  ' padded ',
  '#fragment',
  'half%',
  '100%25',
  '%2F',
  '%252F',
  '%zz',
  '?query=1&b=2',
  'semi;colon=1',
  'plus+plus',
  'quote\'s "double" `back`',
  '<script>',
  'back\\slash',
  'Grüße',
  'é',
  'e\u0301',
  '日本語/資源',
  '👩‍👩‍👧',
  '\u200f\u202e',
  '*',
  ':org',
  'null',
  '-export',
  'id',
  '\ufeffbom',
  '\ufffd',
  'a'.repeat(1_024),
  '😀'.repeat(1_024),
];

test.each(NAMES)('the name %p is found in its list, by the filter, and as the id of a resource', async (name) => {
  const { body } = await org.publish({ resource: { name, id: name } });
  const byName = await org.named(name);
  expect(byName.status).toBe(200);
  expect(byName.body.items.map(({ id, resource }) => [id, resource.name])).toEqual([[body.id, name]]);
  expect(byName.body.query['resourceName']).toBe(name);
  const byFilter = await org.list({ resourceName: name });
  const byId = await org.api.get(`${org.audit}/resource/id/${encodeURIComponent(name)}`);
  expect([byFilter.body.items, byId.body.items]).toEqual([byName.body.items, byName.body.items]);
  expect((await org.api.get(byName.body.links[0]?.href ?? '')).text).toBe(byName.text);
});

test.each(['.', '..'])('the name %p, which no URL path can carry, is found by the filter', async (name) => {
  const { body } = await org.publish({ resource: { name } });
  expect((await org.list({ resourceName: name })).body.items.map(({ id }) => id)).toEqual([body.id]);
});

test('a name may stand in the path with its slashes as they are', async () => {
  const fresh = await newOrg(service);
  await fresh.publish({ resource: { name: 'a/b//c/' } });
  expect((await fresh.api.get(`${fresh.audit}/resource/name/a/b//c/`)).body.items).toHaveLength(1);
});

test('names are distinguished to the last code point', async () => {
  const fresh = await newOrg(service);
  for (const name of ['A', 'a', 'a ', 'a/', 'å', 'a\u030a']) await fresh.publish({ resource: { name } });
  for (const name of ['A', 'a', 'a ', 'a/', 'å', 'a\u030a']) {
    expect((await fresh.named(name)).body.items.map(({ resource }) => resource.name)).toEqual([name]);
  }
});

test('an empty name is refused', async () => {
  const answer = await org.api.get<Refusal>(`${org.audit}/resource/name/`);
  expect(answer.status).toBe(400);
  expect(pointers(answer)).toEqual(['path:resourceName']);
});

test('a resource without a name is in no list by name, and the other way round', async () => {
  const fresh = await newOrg(service);
  await fresh.publish({ resource: { id: 'only-id' } });
  await fresh.publish({ resource: { name: 'only-name' } });
  const byName = await fresh.named('only-id');
  const byId = await fresh.api.get(`${fresh.audit}/resource/id/only-name`);
  expect([byName.body.items, byId.body.items]).toEqual([[], []]);
  expect((await fresh.api.get(`${fresh.audit}/resource/id/only-id`)).body.items).toHaveLength(1);
});
