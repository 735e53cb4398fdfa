import { Api, newOrg, type Org, type Refusal } from '../support/api.js';
import { Resources } from '../support/resources.js';
import { startService, type TestService } from '../support/service.js';

const HOUR = 60 * 60 * 1_000;

let service: TestService;
let org: Org;

beforeAll(async () => {
  service = await startService();
});

beforeEach(async () => {
  org = await newOrg(service);
});

afterAll(() => service.remove());

type Issued = Refusal & { readonly id: string; readonly key: string };

const linkOf = (name: string) => `/org/${org.name}/serviceaccount/${name}`;

function addKey(by: Api, name: string, idempotencyKey?: string, body: object = { description: 'x' }) {
  const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
  return by.post<Issued>(`${linkOf(name)}/-addKey`, body as never, headers);
}

/** A new service account, with a key of its own. */
async function account(name: string): Promise<Api> {
  await org.api.post(`/org/${org.name}/serviceaccount`, { name });
  return new Api(service.url, (await addKey(org.api, name)).body.key);
}

async function mayIssueKeys(name: string): Promise<void> {
  const bindings = [{ permissions: ['addKey'], principalLinks: [linkOf(name)] }];
  const policy = { name: `keys-${name}`, targetKind: 'serviceaccount', target: 'all', bindings };
  expect((await org.api.post(`/org/${org.name}/policy`, policy as never)).status).toBe(201);
}

const superusers = (change: object) =>
  new Resources(org, 'group').patch('superusers', { memberLinks: change } as never);

describe('a retry that would show a key again', () => {
  test('is refused to a caller who does not hold what the key gives any more', async () => {
    const deputy = await account('deputy');
    await mayIssueKeys('deputy');
    await superusers({ $append: [linkOf('deputy')] });
    const first = await addKey(deputy, 'admin', 'once');
    expect(first.status).toBe(201);
    expect((await addKey(deputy, 'admin', 'once')).body.key).toBe(first.body.key);

    await superusers({ $drop: [linkOf('deputy')] });
    const again = await addKey(deputy, 'admin', 'once');
    expect([again.status, again.body.code]).toEqual([403, 'forbidden']);
    expect(again.text).not.toContain(first.body.key);
  });

  test('is another request from an account that was made again under the same name', async () => {
    const ci = await account('ci');
    await superusers({ $append: [linkOf('ci')] });
    const first = await addKey(ci, 'admin', 'rotate');
    expect(first.status).toBe(201);
    await new Resources(org, 'serviceaccount').delete('ci');

    const successor = await account('ci');
    await mayIssueKeys('ci');
    const fresh = await addKey(successor, 'admin');
    const keyed = await addKey(successor, 'admin', 'rotate');
    expect([fresh.status, keyed.status]).toEqual([403, 403]);
    expect(keyed.text).not.toContain(first.body.key);
  });

  test('is refused to a key that ends before the one that it asks to see', async () => {
    await account('robot');
    const lasting = new Api(service.url, (await addKey(org.api, 'robot')).body.key);
    await mayIssueKeys('robot');
    const expires = new Date(Date.now() + HOUR).toISOString();
    const short = new Api(
      service.url,
      (await addKey(lasting, 'robot', undefined, { description: 's', expires })).body.key,
    );
    const first = await addKey(lasting, 'robot', 'laptop');
    expect(first.status).toBe(201);

    const stolen = await addKey(short, 'robot', 'laptop');
    expect([stolen.status, stolen.body.code]).toEqual([409, 'conflict']);
    expect(stolen.text).not.toContain(first.body.key);
    expect((await addKey(lasting, 'robot', 'laptop')).body.key).toBe(first.body.key);
  });

  test('shows no key that was removed since', async () => {
    await account('robot');
    const first = await addKey(org.api, 'robot', 'gone');
    await org.api.post(`${linkOf('robot')}/-removeKey`, { id: first.body.id } as never);
    const again = await addKey(org.api, 'robot', 'gone');
    expect([again.status, again.body.code]).toEqual([409, 'conflict']);
    expect(again.body.message).toContain('removed since');
  });
});
