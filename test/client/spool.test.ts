import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuditClient, type AuditOptions, type Refusal, SpoolError } from '../../src/client/index.js';
import { newOrg, type Org } from '../support/api.js';
import { Link } from '../support/link.js';
import { startService, type TestService } from '../support/service.js';

let service: TestService;
let org: Org;
let folder: string;
let link: Link;
const clients: AuditClient[] = [];

/** How far the clock of the service is behind that of the client. */
let behindMs = 0;

beforeAll(async () => {
  service = await startService({ clock: { now: () => Date.now() - behindMs } });
  link = await Link.start(new URL(service.url).host);
});
beforeEach(async () => {
  org = await newOrg(service);
  folder = mkdtempSync(join(tmpdir(), 'client-spool-'));
  link.set('open');
  behindMs = 0;
});
afterEach(async () => {
  link.set('open');
  for (const client of clients.splice(0)) await client.close({ flushMs: 0 });
  rmSync(folder, { recursive: true });
});
afterAll(async () => {
  await link.close();
  await service.remove();
});

/** A client whose way to the service goes over the link. */
function connect(more: Partial<AuditOptions> = {}): AuditClient {
  const endpoint = `http://${link.address}`;
  const client = new AuditClient({ endpoint, key: org.key, org: org.name, context: 'app', spool: { folder }, ...more });
  clients.push(client);
  return client;
}

function cycle(): object {
  const object = {};
  return Object.assign(object, { itself: object });
}

const nested = (levels: number): object => Array.from({ length: levels }).reduce<object>((inner) => ({ inner }), {});

const named = (name: string) => ({ resource: { name } });
const files = (ending: string) => readdirSync(folder).filter((name) => name.endsWith(ending));

/** Resolves when the client tells of a failed attempt. */
function failing(more: Partial<AuditOptions> = {}): { client: AuditClient; failed: Promise<Error> } {
  const { promise, resolve } = Promise.withResolvers<Error>();
  return { client: connect({ ...more, onError: resolve }), failed: promise };
}

/** The names of what the service has, oldest first. */
async function recorded(): Promise<(string | undefined)[]> {
  const path = `/audit/org/${org.name}?contextName=app&order=received&pageSize=1000`;
  let found = await org.walk(path);
  // What is durable is searchable a moment later.
  const { id } = (await org.publish(named('last'), { context: 'app' })).body;
  while (found.at(-1)?.id !== id) found = await org.walk(path);
  return found.slice(0, -1).map(({ resource }) => resource.name);
}

it('delivers what is recorded once, in order, with the time of the record', async () => {
  const client = connect();
  const all = Array.from({ length: 1_234 }, (_, index) => `event ${index}`);
  const before = Date.now();
  await Promise.all(all.map((name) => client.record(named(name))));
  await client.flush();
  expect(await recorded()).toEqual(all);
  const [event] = (await org.list({ contextName: 'app', resourceName: 'event 0' })).body.items;
  expect(Math.abs(Date.parse(event?.eventTime ?? '') - before)).toBeLessThan(60_000);
  await client.close();
  expect(files('.spool')).toEqual([]);
});

it('records without the service, and delivers in the next process', async () => {
  link.set('cut');
  const { client, failed } = failing();
  await client.record(named('a'));
  expect(await failed).toMatchObject({ name: 'ConnectionError' });
  await client.record(named('b'));
  await expect(client.flush({ timeoutMs: 1 })).rejects.toMatchObject({ fault: 'late' });
  await client.close({ flushMs: 0 });
  await expect(client.record(named('c'))).rejects.toMatchObject({ name: 'SpoolError', fault: 'closed' });
  link.set('open');
  await connect().flush();
  expect(await recorded()).toEqual(['a', 'b']);
});

it('delivers to the context that an event was recorded for', async () => {
  link.set('cut');
  const first = connect();
  await first.record(named('a'));
  await first.close({ flushMs: 0 });
  link.set('open');
  const second = connect({ context: 'other' });
  await second.record(named('b'));
  await second.flush();
  expect(await recorded()).toEqual(['a']);
});

it('repeats nothing when answers are lost', async () => {
  link.set('lossy');
  const client = connect();
  const all = Array.from({ length: 60 }, (_, index) => `event ${index}`);
  for (const name of all) await client.record(named(name));
  await client.flush();
  expect(await recorded()).toEqual(all);
});

it('keeps what the service refuses for good in a file, and delivers the rest', async () => {
  const refused: Refusal[] = [];
  const client = connect({ onRefused: (refusal) => refused.push(refusal) });
  await client.record(named('a'));
  await client.record({ resource: { name: 'wrong', data: 'text' as never } }, { idempotencyKey: 'k' });
  await client.record(named('b'));
  await client.flush();
  expect(await recorded()).toEqual(['a', 'b']);
  const lines = readFileSync(join(folder, 'refused.jsonl'), 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual(refused);
  expect(refused).toMatchObject([
    {
      error: { status: 400, code: 'validation_failed' },
      event: { resource: { name: 'wrong' } },
      idempotencyKey: 'k',
      target: `/audit/org/${org.name}/auditctx/app`,
    },
  ]);
});

describe('with a clock that is ahead of the service', () => {
  it('delivers an event with the time of its arrival, and refuses one whose time the application set', async () => {
    behindMs = 3_600_000;
    const refused: Refusal[] = [];
    const client = connect({ onRefused: (refusal) => refused.push(refusal) });
    const eventTime = new Date().toISOString();
    await client.record({ eventTime, ...named('own time') });
    for (const name of ['a', 'b']) await client.record(named(name));
    await client.record({ ...named('no time'), eventTime: null as never });
    await client.flush();
    expect(await recorded()).toEqual(['a', 'b', 'no time']);
    const [event] = (await org.list({ contextName: 'app', resourceName: 'a' })).body.items;
    expect(Math.abs(Date.parse(event?.eventTime ?? '') + behindMs - Date.now())).toBeLessThan(60_000);
    expect(refused).toMatchObject([
      {
        error: {
          details: { fields: [{ pointer: '/event/eventTime', reason: 'must be at most 5 minutes in the future' }] },
        },
        event: { eventTime, ...named('own time') },
      },
    ]);
  });

  it('records an event once that is sent again, after a crash, when the clock is right', async () => {
    behindMs = 3_600_000;
    const first = connect();
    await first.record(named('a'));
    const file = join(folder, files('.spool')[0] as string);
    const segment = readFileSync(file);
    await first.flush();
    await first.close();
    writeFileSync(file, segment);
    behindMs = 0;
    await connect().flush();
    expect(await recorded()).toEqual(['a']);
    expect(files('refused.jsonl')).toEqual([]);
  });

  it('refuses an event for its other faults, not for the time of this clock', async () => {
    behindMs = 3_600_000;
    const refused: Refusal[] = [];
    const client = connect({ onRefused: (refusal) => refused.push(refusal) });
    await client.record({ resource: { name: 'wrong', data: 'text' as never } });
    await client.flush();
    expect(refused.map(({ error }) => error.details?.fields?.map(({ pointer }) => pointer))).toEqual([
      ['/event/resource/data'],
    ]);
  });
});

it.each([
  ['null', () => null, 'null'],
  ['nothing', () => undefined, 'undefined'],
  ['a text', () => 'x', 'a text'],
  ['a list', () => [], 'a list'],
  ['an event without a resource', () => ({}), '`resource`'],
  ['a resource without a name', () => ({ resource: { type: 'order', name: '' } }), '`resource`'],
  ['an object that becomes nothing', () => ({ toJSON: () => undefined }), 'undefined'],
  ['a cycle', () => Object.assign(named('a'), { action: { data: cycle() } }), '/action/data/itself'],
  ['a BigInt', () => ({ resource: { name: 'a', data: { 'a/b': [0, 1n] } } }), 'BigInt at /resource/data/a~1b/1'],
  [
    'a getter that throws',
    () => ({
      resource: { name: 'a' },
      get action() {
        throw new Error('gone');
      },
    }),
    'gone',
  ],
  ['too many levels', () => ({ resource: { name: 'a', data: nested(100_000) } }), 'no JSON object'],
])('refuses to record %s', async (_what, event, fault) => {
  const client = connect();
  const error = await client.record(event() as never).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(SpoolError);
  expect(error).toMatchObject({ fault: 'invalid', message: expect.stringContaining(fault) });
  expect(files('.spool')).toEqual([]);
});

it.each([
  [
    'throw',
    () => {
      throw new Error('a fault of a callback');
    },
  ],
  ['reject', () => Promise.reject(new Error('a fault of a callback'))],
])('delivers on when callbacks %s, and warns', async (_how, fail: () => never | Promise<never>) => {
  const { emitWarning } = process;
  const warned: unknown[] = [];
  process.emitWarning = (warning: unknown) => void warned.push(warning);
  try {
    link.set('cut');
    const client = connect({ onRefused: fail, onError: fail });
    await client.record({ resource: { name: 'wrong', data: 'text' as never } });
    while (warned.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    link.set('open');
    await client.record(named('a'));
    await client.flush();
    await client.record(named('b'));
    await client.flush();
    expect(await recorded()).toEqual(['a', 'b']);
    expect(warned.length).toBeGreaterThanOrEqual(2);
    for (const warning of warned) expect(warning).toContain('a fault of a callback');
    expect(readFileSync(join(folder, 'refused.jsonl'), 'utf8').match(/\n/g)).toHaveLength(1);
  } finally {
    process.emitWarning = emitWarning;
  }
});

it('keeps events of a key that is refused, until it may write', async () => {
  const { client, failed } = failing({ key: 'wrong' });
  await client.record(named('a'));
  expect(await failed).toMatchObject({ name: 'ApiError', body: { status: 401 } });
  await client.close({ flushMs: 0 });
  expect(files('refused.jsonl')).toEqual([]);
  await connect().flush();
  expect(await recorded()).toEqual(['a']);
});

it('keeps events for a context that cannot exist', async () => {
  const { client, failed } = failing({ context: 'no context' });
  await client.record(named('a'));
  expect(await failed).toMatchObject({ body: { code: 'validation_failed' } });
  await client.close({ flushMs: 0 });
  expect([files('refused.jsonl'), files('.spool')]).toEqual([[], ['000000000001.spool']]);
});

describe('a folder', () => {
  it('belongs to one client, and to the next when that is closed', async () => {
    const first = connect();
    await first.ready();
    const second = connect();
    await expect(second.ready()).rejects.toMatchObject({ fault: 'locked', message: expect.stringContaining(folder) });
    await expect(second.record(named('a'))).rejects.toBeInstanceOf(SpoolError);
    await first.close();
    await connect().ready();
  });

  it('is taken over from a process that has ended, by one of many', async () => {
    writeFileSync(join(folder, 'lock.7'), JSON.stringify({ ...JSON.parse(await lockText()), started: 'another time' }));
    const takers = Array.from({ length: 20 }, () => connect());
    const taken = await Promise.allSettled(takers.map((taker) => taker.ready()));
    expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(files('').filter((name) => name.startsWith('lock'))).toEqual(['lock.8']);
  });

  it('refuses records beyond its bytes, and takes them again when there is room', async () => {
    link.set('cut');
    const client = connect({ spool: { folder, maxBytes: 4 * 1024 * 1024 } });
    const large = { resource: { name: 'a', data: { fill: 'x'.repeat(200_000) } } };
    let count = 0;
    const fill = async () => {
      for (; ; count += 1) await client.record(large);
    };
    await expect(fill()).rejects.toMatchObject({ fault: 'full' });
    expect(files('.spool').reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)).toBeLessThan(4 << 20);
    link.set('open');
    await client.flush();
    await client.record(named('b'));
    await client.flush();
    expect(await recorded()).toEqual([...Array(count).fill('a'), 'b']);
  });

  it('refuses an event that the service would not take', async () => {
    const client = connect();
    const large = { resource: { name: 'a', data: { fill: 'x'.repeat(300_000) } } };
    await expect(client.record(large)).rejects.toMatchObject({ fault: 'too-large' });
    await expect(connect({ spool: { folder, maxBytes: 1 } }).ready()).rejects.toMatchObject({ fault: 'invalid' });
  });
});

describe('after a crash', () => {
  /** Events that were recorded and not delivered. */
  async function left(...names: string[]): Promise<string> {
    link.set('cut');
    const client = connect();
    for (const name of names) await client.record(named(name));
    await client.close({ flushMs: 0 });
    link.set('open');
    return join(folder, files('.spool')[0] as string);
  }

  it.each(['half a record', 'half a header'])('tolerates %s', async (what) => {
    const file = await left('a', 'b');
    const { length } = readFileSync(file);
    if (what === 'half a record') truncateSync(file, length - 5);
    else writeFileSync(join(folder, '000000000099.spool'), 'abcdef');
    const client = connect();
    await client.record(named('c'));
    await client.flush();
    expect(await recorded()).toEqual(what === 'half a record' ? ['a', 'c'] : ['a', 'b', 'c']);
  });

  it('delivers every record of a segment whose first line was removed', async () => {
    const file = await left('a', 'b');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.slice(text.indexOf('\n') + 1));
    await connect().flush();
    expect(await recorded()).toEqual(['a', 'b']);
  });

  it('keeps a first line that the disk altered', async () => {
    const file = await left('a', 'b');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"target"', '"forget"'));
    const found: string[] = [];
    // The type tells a damaged record from a refused event.
    const onRefused = ({ event, raw }: Refusal) => found.push(event === undefined ? raw : String(event.resource.name));
    await connect({ onRefused }).flush();
    expect(await recorded()).toEqual(['a', 'b']);
    expect(found).toEqual([expect.stringContaining('"forget"')]);
  });

  it('keeps a line that the disk altered, and delivers the others', async () => {
    const file = await left('a', 'b', 'c');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"name":"b"', '"name":"x"'));
    appendFileSync(file, Buffer.alloc(100));
    await connect().flush();
    expect(await recorded()).toEqual(['a', 'c']);
    const [line = ''] = readFileSync(join(folder, 'refused.jsonl'), 'utf8').split('\n');
    expect(JSON.parse(line)).toMatchObject({ error: { code: 'damaged' }, raw: expect.stringContaining('"name":"x"') });
  });
});

/** What a client writes into the lock of its folder. */
async function lockText(): Promise<string> {
  const client = connect();
  await client.ready();
  const text = readFileSync(join(folder, 'lock.1'), 'utf8');
  await client.close();
  rmSync(join(folder, 'lock.1'));
  return text;
}
