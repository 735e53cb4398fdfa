import { Api, EVENTS_OF_A_NEW_ORG, newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
});

afterAll(() => service.remove());

test('one event comes in the envelope of the specification', async () => {
  const { body } = await org.publish({ resource: { name: 'one' } });
  const answer = await org.event(body.id);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.body).toEqual({
    kind: 'auditevent',
    itemKind: 'auditevent',
    item: expect.objectContaining({ id: body.id, resource: { name: 'one' } }),
    query: { id: body.id },
    links: [{ rel: 'self', href: `${org.audit}/id/${body.id}` }],
  });
});

test('the self link returns the same bytes', async () => {
  const { body } = await org.publish({ resource: { name: 'self' } });
  const first = await org.event(body.id);
  expect((await org.api.get(first.body.links[0]?.href ?? '')).text).toBe(first.text);
});

test('an unknown id, a malformed one and one of another organization get the same response', async () => {
  const other = await newOrg(service);
  const foreign = await other.publish({ resource: { name: 'secret' } });
  const keyed = await other.publish({ resource: { name: 'secret' } }, { idempotencyKey: 'k' });
  const ids = [foreign.body.id, keyed.body.id, '01890000-0000-7000-8000-000000000000', 'nonsense', "' OR 1=1 --", '%'];
  const answers = await Promise.all(ids.map((id) => org.event<Refusal>(id)));
  const [first, ...rest] = answers.map(({ status, body: { id: _requestId, ...body } }) => ({ status, body }));
  expect(first).toMatchObject({ status: 404, body: { code: 'not_found' } });
  for (const answer of rest) expect(answer).toEqual(first);
});

test('an event that was published by another organization with the same key is not shown', async () => {
  const other = await newOrg(service);
  const mine = await org.published({ resource: { name: 'mine' } }, { idempotencyKey: 'shared' });
  const theirs = await other.published({ resource: { name: 'theirs' } }, { idempotencyKey: 'shared' });
  expect([mine.resource.name, theirs.resource.name]).toEqual(['mine', 'theirs']);
});

test('query parameters are refused', async () => {
  const { body } = await org.publish({ resource: { name: 'x' } });
  const answer = await org.api.get<Refusal>(`${org.audit}/id/${body.id}?verbose=1`);
  expect(answer.status).toBe(400);
  expect(pointers(answer)).toEqual(['?verbose']);
});

test('HEAD returns the status of GET without a body', async () => {
  const { body } = await org.publish({ resource: { name: 'x' } });
  const found = await org.api.send('HEAD', `${org.audit}/id/${body.id}`);
  const unknown = await org.api.send('HEAD', `${org.audit}/id/unknown`);
  expect([found.status, found.text, unknown.status, unknown.text]).toEqual([200, '', 404, '']);
  expect((await new Api(service.url).send('HEAD', `${org.audit}/id/${body.id}`)).status).toBe(401);
});

describe('the contexts of an organization', () => {
  interface Contexts {
    kind: string;
    itemKind: string;
    items: { kind: string; name: string; count: number; links: { rel: string; href: string }[] }[];
    links: { rel: string; href: string }[];
  }

  test('are listed with how many events each has, the service’s own among them', async () => {
    const fresh = await newOrg(service);
    const resource = { name: 'x' };
    for (const context of ['b', 'a', 'b', 'B']) await fresh.publish({ resource }, { context });
    await fresh.bulk(
      Array.from({ length: 10 }, () => ({ resource })),
      { context: 'a' },
    );
    const { status, body } = await fresh.api.get<Contexts>(`${fresh.audit}/auditctx`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      kind: 'list',
      itemKind: 'auditctx',
      links: [{ rel: 'self', href: `${fresh.audit}/auditctx` }],
    });
    expect(body.items.map(({ kind, name, count }) => [kind, name, count])).toEqual([
      ['auditctx', 'B', 1],
      ['auditctx', 'a', 11],
      ['auditctx', 'b', 2],
      ['auditctx', 'svc', EVENTS_OF_A_NEW_ORG],
    ]);
  });

  test('count a repeated and a conflicting keyed event once', async () => {
    const fresh = await newOrg(service);
    for (const name of ['x', 'x', 'y']) await fresh.publish({ resource: { name } }, { idempotencyKey: 'k' });
    const { body } = await fresh.api.get<Contexts>(`${fresh.audit}/auditctx`);
    expect(body.items.find(({ name }) => name === 'app')?.count).toBe(1);
  });

  test('take no query parameters', async () => {
    expect(pointers(await org.api.get<Refusal>(`${org.audit}/auditctx?page=1`))).toEqual(['?page']);
  });
});
