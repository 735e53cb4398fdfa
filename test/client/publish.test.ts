import { AuditClient, ClientError } from '../../src/client/index.js';
import { newOrg, type Org } from '../support/api.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;
let audit: AuditClient;

beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  org = await newOrg(service);
  audit = connect();
});
afterEach(() => audit.close());
afterAll(() => service.remove());

const connect = (more: { key?: string; endpoint?: string; context?: string } = {}) =>
  new AuditClient({ endpoint: service.url, key: org.key, org: org.name, context: 'app', ...more });

const named = (name: string) => ({ resource: { name } });

async function names(events: AsyncIterable<{ resource: { name?: string | undefined } }>, most = Number.MAX_VALUE) {
  const found: (string | undefined)[] = [];
  for await (const { resource } of events) if (found.push(resource.name) >= most) break;
  return found;
}

describe('publish', () => {
  it('returns the identifier of an event that is searchable, if asked to wait for that', async () => {
    const { id } = await audit.publish({ ...named('web'), action: { type: 'create' } }, { wait: 'searchable' });
    expect((await audit.get(id)).resource.name).toBe('web');
    expect(await names(audit.list({ actionType: 'create' }))).toEqual(['web']);
  });

  it('records one event for one key', async () => {
    const ids = [];
    for (const wait of ['durable', 'searchable', 'durable'] as const)
      ids.push((await audit.publish(named('web'), { wait, idempotencyKey: 'k' })).id);
    expect(new Set(ids).size).toBe(1);
    expect(await names(audit.list())).toEqual(['web']);
  });

  it('rejects what the service refuses with its code and the field', async () => {
    const refused = audit.publish({ resource: { name: 'web', data: 3 as never } });
    await expect(refused).rejects.toMatchObject({
      name: 'ApiError',
      body: { status: 400, code: 'validation_failed', details: { fields: [{ pointer: '/resource/data' }] } },
    });
  });

  it('rejects a value that JSON has no form for, and names its member', async () => {
    const refused = audit.publish({ resource: { name: 'web', data: { count: 1n } } });
    await expect(refused).rejects.toMatchObject({
      name: 'SpoolError',
      fault: 'invalid',
      message: expect.stringContaining('/resource/data/count'),
    });
  });

  it('rejects with what is wrong with the way to the service', async () => {
    const nowhere = connect({ endpoint: 'http://nowhere.invalid' });
    await expect(nowhere.get('x')).rejects.toMatchObject({ name: 'ConnectionError', fault: 'unknown-host' });
    expect(() => connect({ context: '..' })).toThrow(ClientError);
  });
});

describe('list', () => {
  it('goes over all pages, newest first, and over other contexts if asked', async () => {
    const all = Array.from({ length: 450 }, (_, index) => `event ${index}`);
    await org.bulk(all.map(named), { context: 'app' });
    await org.publish(named('elsewhere'), { context: 'other' });
    expect((await names(audit.list())).sort()).toEqual([...all].sort());
    expect(await names(audit.list({ contextName: 'other' }))).toEqual(['elsewhere']);
    expect(await names(audit.list({ contextName: undefined, resourceName: 'elsewhere' }))).toEqual(['elsewhere']);
  });
});

describe('tail', () => {
  it('yields each new event once, in the order received, and goes on from a position', async () => {
    await audit.publish(named('before'), { wait: 'searchable' });
    const tail = audit.tail();
    const first = names(tail, 2);
    while (tail.position === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    for (const name of ['a', 'b', 'c']) await audit.publish(named(name), { wait: 'searchable' });
    expect(await first).toEqual(['a', 'b']);
    // The loop was left within a page: its events come again.
    const after = tail.position as string;
    expect((await names(audit.tail({ after }), 3)).at(-1)).toBe('c');
  });

  it('ends without an error when its signal is aborted, and with one when the client is closed', async () => {
    const stop = new AbortController();
    const stopped = names(audit.tail({ signal: stop.signal }));
    stop.abort();
    expect(await stopped).toEqual([]);
    const closed = expect(names(audit.tail())).rejects.toMatchObject({ name: 'Interrupted' });
    await audit.close();
    await closed;
  });
});
