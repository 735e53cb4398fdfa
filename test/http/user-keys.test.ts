import { type Answer, Api, newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { undocumented } from '../support/documented.js';
import { type Mailbox, newUser, openMailbox, type UserBody } from '../support/mail.js';
import { startService, type TestService } from '../support/service.js';

interface Key {
  readonly id: string;
  readonly description: string;
  readonly created: string;
  readonly expires?: string;
}

interface IssuedKey extends Key {
  readonly kind: string;
  readonly key: string;
  readonly links: readonly { readonly rel: string; readonly href: string }[];
}

interface KeyList {
  readonly kind: string;
  readonly itemKind: string;
  readonly items: readonly Key[];
}

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const ANN = 'ann@example.com';
const BOB = 'bob@example.com';

let mailbox: Mailbox;
let service: TestService;
let org: Org;
let ann: Api;
let bob: Api;
let annId: string;
let late = 0;

beforeAll(async () => {
  mailbox = await openMailbox();
  service = await startService({ env: mailbox.env, clock: { now: () => Date.now() + late } });
});

beforeEach(async () => {
  late = 0;
  org = await newOrg(service);
  const users = await Promise.all([newUser(org, mailbox, ANN), newUser(org, mailbox, BOB)]);
  [ann, bob] = users.map(({ body }) => new Api(service.url, body.key)) as [Api, Api];
  annId = users[0].body.id;
});

afterAll(async () => {
  await service.remove();
  await mailbox.close();
});

const pathOf = (ref: string, kind = 'user') => `/org/${org.name}/${kind}/${ref}`;

function addKey<Body = IssuedKey>(by: Api, ref = ANN, body: object = { description: 'x' }, headers = {}) {
  return by.post<Body>(`${pathOf(ref)}/-addKey`, body as never, headers);
}

const removeKey = (by: Api, id: string, ref = ANN) => by.post<Refusal>(`${pathOf(ref)}/-removeKey`, { id });
const keys = (by: Api, ref = ANN) => by.get<KeyList>(`${pathOf(ref)}/-keys`);
const statusOf = async (key: string) => (await new Api(service.url, key).get(`/org/${org.name}`)).status;
const outcome = ({ status, body }: Answer<unknown>) => [status, (body as Partial<Refusal> | undefined)?.code];

/** Makes ann and the account admin the only superusers, or those that are named. */
async function superusers(...memberLinks: string[]): Promise<Answer<Refusal>> {
  const body = JSON.stringify({ memberLinks });
  return org.api.send('PATCH', pathOf('superusers', 'group'), body, { 'content-type': 'application/json' });
}

async function grant(link: string, permission: string): Promise<void> {
  const bindings = [{ permissions: [permission], principalLinks: [link] }];
  const policy = { name: `may-${permission}`, targetKind: 'user', targetLinks: [pathOf(ANN)], bindings };
  const { status, text } = await org.api.post(`/org/${org.name}/policy`, policy);
  if (status !== 201) throw new Error(text);
}

describe('a key of a user', () => {
  test('is issued by the user, shown once, and works at once', async () => {
    const { status, headers, body } = await addKey(ann, ANN, { description: 'laptop' });
    const { key, ...shown } = body;
    expect([status, headers.get('location'), headers.get('cache-control')]).toEqual([201, pathOf(ANN), 'no-store']);
    expect(shown).toEqual({
      kind: 'key',
      id: expect.any(String),
      description: 'laptop',
      created: expect.any(String),
      links: [{ rel: 'user', href: pathOf(ANN) }],
    });
    expect(undocumented('IssuedKey', body)).toEqual([]);
    expect(await statusOf(key)).toBe(200);
    expect((await service.stored()).includes(key)).toBe(false);
  });

  test('is listed, the oldest first, without its secret, also by the id of the user', async () => {
    const { body: issued } = await addKey(ann, ANN, { description: 'laptop', expires: '2099-01-01T00:00:00Z' });
    const { status, body, text } = await keys(ann);
    expect([status, body.kind, body.itemKind]).toEqual([200, 'list', 'key']);
    expect(body.items.map(({ description }) => description)).toEqual(['first key', 'laptop']);
    expect(body.items[1]).toEqual({
      id: issued.id,
      description: 'laptop',
      created: issued.created,
      expires: '2099-01-01T00:00:00.000Z',
    });
    expect(text).not.toContain(issued.key);
    expect(undocumented('KeyList', body)).toEqual([]);
    expect((await keys(ann, annId)).body.items).toHaveLength(2);
  });

  test('is removed by the user, and refused at once; the others are not', async () => {
    const { body: issued } = await addKey(ann);
    expect(outcome(await removeKey(ann, issued.id))).toEqual([204, undefined]);
    expect([await statusOf(issued.key), (await keys(ann)).status]).toEqual([401, 200]);
    expect(outcome(await removeKey(ann, issued.id))).toEqual([404, 'not_found']);
  });

  test('may remove itself, also as the last one of a user who is no superuser', async () => {
    const [first] = (await keys(ann)).body.items;
    expect((await removeKey(ann, first?.id ?? '')).status).toBe(204);
    expect((await keys(ann)).status).toBe(401);
  });

  test('of another user is not touched without manage on the user', async () => {
    const [first] = (await keys(ann)).body.items;
    await grant(pathOf(BOB), 'edit');
    const answers = [await addKey<Refusal>(bob), await removeKey(bob, first?.id ?? ''), await keys(bob)];
    expect(answers.map(outcome)).toEqual(answers.map(() => [403, 'forbidden']));
    expect((await keys(ann)).body.items).toHaveLength(1);
    // Removing it as a key of one's own does not work either.
    expect(outcome(await removeKey(bob, first?.id ?? '', BOB))).toEqual([404, 'not_found']);
  });

  test('of another user is listed and removed with manage on the user', async () => {
    await grant(pathOf(BOB), 'manage');
    const { body: issued } = await addKey(ann);
    expect((await keys(bob)).body.items.map(({ id }) => id)).toContain(issued.id);
    expect((await removeKey(bob, issued.id)).status).toBe(204);
    expect(await statusOf(issued.key)).toBe(401);
  });

  test('is issued to somebody else by a superuser', async () => {
    const { status, body } = await addKey(org.api, BOB);
    expect([status, await statusOf(body.key)]).toEqual([201, 200]);
    const who = await new Api(service.url, body.key).get<{ principal: object }>('/whoami');
    expect(who.body.principal).toMatchObject({ link: pathOf(BOB) });
  });

  test('goes with the user', async () => {
    const { body: issued } = await addKey(ann);
    expect((await org.api.send('DELETE', pathOf(ANN))).status).toBe(204);
    expect(await statusOf(issued.key)).toBe(401);
  });

  test('is recorded for auditors when issued and removed', async () => {
    const { body: issued } = await addKey(ann);
    await removeKey(ann, issued.id);
    const { items } = (await org.list({ contextName: 'svc', subjectEmail: ANN })).body;
    const told = items.filter(({ resource }) => resource.id === issued.id);
    expect(told.map(({ action, resource }) => [action?.type, resource.name])).toEqual([
      ['remove-key', pathOf(ANN)],
      ['add-key', pathOf(ANN)],
    ]);
  });

  test('is the same one at a retry with the same Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await addKey(ann, ANN, { description: 'x' }, headers);
    const again = await addKey(ann, ANN, { description: 'x' }, headers);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect((await keys(ann)).body.items).toHaveLength(2);
  });

  test.each<[string, object, string[]]>([
    ['no description', {}, ['/description']],
    ['an end that is no instant', { description: 'x', expires: 'soon' }, ['/expires']],
    ['an end in the past', { description: 'x', expires: '2020-01-01T00:00:00Z' }, ['/expires']],
    ['a secret of its own', { description: 'x', key: 'svc_mine' }, ['/key']],
  ])('is refused with %s', async (_what, body, places) => {
    const answer = await addKey<Refusal>(ann, ANN, body);
    expect([answer.status, answer.body.code, pointers(answer)]).toEqual([400, 'validation_failed', places]);
  });

  test('of a user who is not there is not found', async () => {
    const answers = [
      await addKey<Refusal>(org.api, 'nobody@example.com'),
      await removeKey(org.api, 'x', 'nobody@example.com'),
      await keys(org.api, 'nobody@example.com'),
    ];
    expect(answers.map(outcome)).toEqual(answers.map(() => [404, 'not_found']));
  });
});

describe('a key that its holder issues', () => {
  test('ends with the key that asked for it, and cannot be made to outlive it', async () => {
    const expires = new Date(Date.now() + HOUR).toISOString();
    const { body: short } = await addKey(ann, ANN, { description: 'short', expires });
    const thief = new Api(service.url, short.key);
    expect((await addKey(thief)).body.expires).toBe(expires);
    const answer = await addKey<Refusal>(thief, ANN, { description: 'x', expires: '2099-01-01T00:00:00Z' });
    expect([answer.status, answer.body.code, pointers(answer)]).toEqual([400, 'validation_failed', ['/expires']]);
    expect(answer.body.details.fields?.[0]?.reason).toContain(`must be ${expires} at the latest`);
    late = HOUR + 1_000;
    expect(await statusOf(short.key)).toBe(401);
    const open = (await keys(ann)).body.items.filter((key) => key.expires === undefined);
    expect(open.map(({ description }) => description)).toEqual(['first key']);
  });

  test('ends with it for service accounts, too', async () => {
    const expires = new Date(Date.now() + HOUR).toISOString();
    const admin = pathOf('admin', 'serviceaccount');
    const { body: short } = await org.api.post<IssuedKey>(`${admin}/-addKey`, { description: 'short', expires });
    const thief = new Api(service.url, short.key);
    const { body } = await thief.post<IssuedKey>(`${admin}/-addKey`, { description: 'x' });
    expect(body.expires).toBe(expires);
  });
});

describe('the keys of a service account', () => {
  test('are listed for the account itself and for whoever may view it', async () => {
    await org.api.post(pathOf('', 'serviceaccount').slice(0, -1), { name: 'robot' });
    const robot = pathOf('robot', 'serviceaccount');
    const { body: issued } = await org.api.post<IssuedKey>(`${robot}/-addKey`, { description: 'x' });
    const list = (by: Api, path = robot) => by.get<KeyList>(`${path}/-keys`);
    const own = await list(new Api(service.url, issued.key));
    expect([own.status, own.body.items.map(({ id }) => id)]).toEqual([200, [issued.id]]);
    expect((await list(org.api)).body.items.map(({ id }) => id)).toEqual([issued.id]);
    expect((await list(ann)).status).toBe(403);
    expect((await list(new Api(service.url, issued.key), pathOf('admin', 'serviceaccount'))).status).toBe(403);
    expect(outcome(await list(org.api, pathOf('nobody', 'serviceaccount')))).toEqual([404, 'not_found']);
  });
});

describe('the last live key of the superusers', () => {
  const admin = () => pathOf('admin', 'serviceaccount');
  const adminKeys = async () => (await org.api.get<KeyList>(`${admin()}/-keys`)).body.items;

  test('is not removed by its holder', async () => {
    const [first] = await adminKeys();
    const answer = await org.api.post<Refusal>(`${admin()}/-removeKey`, { id: first?.id ?? '' });
    expect(outcome(answer)).toEqual([409, 'builtin_resource']);
    expect((await org.api.get(`/org/${org.name}`)).status).toBe(200);
  });

  test('is not removed with its account, nor by leaving the group to members without keys', async () => {
    await org.api.post(pathOf('', 'serviceaccount').slice(0, -1), { name: 'robot' });
    await superusers(admin(), pathOf('robot', 'serviceaccount'));
    expect(outcome(await org.api.send('DELETE', admin()))).toEqual([409, 'builtin_resource']);
    expect(outcome(await superusers(pathOf('robot', 'serviceaccount')))).toEqual([409, 'builtin_resource']);
    expect((await org.api.get(admin())).status).toBe(200);
  });

  test('is not removed from a user, and is free to go once another superuser has one', async () => {
    await superusers(admin(), pathOf(ANN));
    const [first] = await adminKeys();
    expect((await org.api.post(`${admin()}/-removeKey`, { id: first?.id ?? '' })).status).toBe(204);
    const [anns] = (await keys(ann)).body.items;
    expect(outcome(await removeKey(ann, anns?.id ?? ''))).toEqual([409, 'builtin_resource']);
    expect(outcome(await ann.send('DELETE', pathOf(ANN)))).toEqual([409, 'builtin_resource']);
    await ann.post(`${admin()}/-addKey`, { description: 'again' });
    expect((await removeKey(ann, anns?.id ?? '')).status).toBe(204);
  });

  test('stays when all that there are are removed at once', async () => {
    await superusers(admin(), pathOf(ANN), pathOf(BOB));
    const all = await Promise.all(
      [admin(), pathOf(ANN), pathOf(BOB)].map(async (path) => {
        const { items } = (await org.api.get<KeyList>(`${path}/-keys`)).body;
        return items.map(({ id }) => ({ path, id }));
      }),
    );
    const apis = [org.api, ann, bob];
    const removals = all
      .flat()
      .map(({ path, id }, index) => (apis[index % 3] as Api).post<Refusal>(`${path}/-removeKey`, { id }));
    const statuses = (await Promise.all(removals)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 204).length).toBeLessThan(all.flat().length);
    const alive = await Promise.all(apis.map((api) => api.get(`/org/${org.name}`)));
    expect(alive.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
  });
});

describe('the longest life of a key', () => {
  let limited: TestService;
  let own: Org;
  let user: UserBody & { readonly key: string };
  beforeAll(async () => {
    limited = await startService({ env: { ...mailbox.env, CONTROL_KEY_MAX_DAYS: '30' } });
    own = await newOrg(limited);
    user = (await newUser(own, mailbox, 'cem@example.com')).body;
  });
  afterAll(() => limited.remove());

  const add = <Body = IssuedKey>(body: object, path = `/org/${own.name}/serviceaccount/admin`) =>
    own.api.post<Body>(`${path}/-addKey`, body as never);

  test('ends every key that is issued without an end', async () => {
    const { body } = await add({ description: 'x' });
    expect(Date.parse(body.expires ?? '') - Date.parse(body.created)).toBe(30 * DAY);
    const { items } = (await own.api.get<KeyList>(`/org/${own.name}/user/${user.email}/-keys`)).body;
    expect(items.map(({ created, expires }) => Date.parse(expires ?? '') - Date.parse(created))).toEqual([30 * DAY]);
  });

  test('refuses a later end, and takes an earlier one as it is', async () => {
    const later = new Date(Date.now() + 31 * DAY).toISOString();
    const answer = await add<Refusal>({ description: 'x', expires: later });
    expect([answer.status, pointers(answer)]).toEqual([400, ['/expires']]);
    expect(answer.body.details.fields?.[0]?.reason).toMatch(/at the latest: keys of this service live at most 30 days/);
    const earlier = new Date(Date.now() + DAY).toISOString();
    expect((await add({ description: 'x', expires: earlier })).body.expires).toBe(earlier);
  });

  test('leaves the first key of an organization, and a recovery key, without an end', async () => {
    const recovered = await new Api(limited.url, limited.rootKey).post<IssuedKey>(`/org/${own.name}/-recover`, '');
    expect([recovered.status, recovered.body.expires]).toEqual([201, undefined]);
    const { items } = (await own.api.get<KeyList>(`/org/${own.name}/serviceaccount/admin/-keys`)).body;
    const open = items.filter(({ expires }) => expires === undefined).map(({ description }) => description);
    expect(open).toEqual(['first key', 'recovery key']);
  });
});
