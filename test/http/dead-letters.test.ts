import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { auditEntry } from '../../src/event-log/audit-record.js';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import type { LogEntry } from '../../src/event-log/event-log.js';
import { recordedEvent } from '../../src/model/audit-event.js';
import { Api, at, type Link, linkOf, newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { checkpointOfSize, provenExport, SEALED_OFTEN, verifyProven, vkeyOfLog } from '../support/proofs.js';
import { startService, type TestService } from '../support/service.js';

interface Letter {
  readonly kind: string;
  readonly place: string;
  readonly reason: string;
  readonly time: string;
  readonly key: string;
  readonly bytes: number;
  readonly replayed: boolean;
  readonly value?: string;
}

interface Letters {
  readonly kind: string;
  readonly itemKind: string;
  readonly items: readonly Letter[];
  readonly links: readonly Link[];
}

interface Replay {
  readonly items: readonly { readonly place: string; readonly now: string }[];
}

let service: TestService;
let org: Org;
let root: Api;

beforeEach(async () => {
  service = await startService();
  org = await newOrg(service);
  root = new Api(service.url, service.rootKey);
});

afterEach(() => service.remove());

/** Appends to the log of the stopped service, as another version of the program might have, and starts it again. */
async function recorded(...entries: readonly LogEntry[]): Promise<void> {
  await service.stop();
  const log = await EmbeddedEventLog.open({ file: join(service.dataDir, 'log.db') });
  await log.append(entries);
  await log.close();
  service = await startService({ dataDir: service.dataDir, env: SEALED_OFTEN });
  org = at(service, org);
  root = new Api(service.url, service.rootKey);
}

function entry(id: string, headers: LogEntry['headers'] = {}): LogEntry {
  const publication = {
    id,
    postedTime: '2026-01-02T03:04:05.678Z',
    org: org.name,
    contextName: 'app',
    remoteIp: '::1',
    requestId: 'r',
    publisher: { link: `/org/${org.name}/serviceaccount/admin`, keyId: 'key-1', remoteIp: '::1' },
    subject: { name: 'admin' },
  };
  const { headers: own, ...rest } = auditEntry(recordedEvent({ resource: { name: 'from-tomorrow' } }, publication));
  return { ...rest, headers: { ...own, ...headers } };
}

const TOMORROW = { v: '2' };
const ID = '01890a5d-ac96-774b-bcce-b302099a8057';
const garbage = (text: string): LogEntry => ({
  topic: 'audit',
  key: `key of ${text.slice(0, 20)}\u0007`,
  headers: { v: '1' },
  value: Buffer.from(text),
});

const list = async (query = '') => (await root.get<Letters>(`/-dead-letters${query}`)).body;
const replay = <Body = Replay & Refusal>(body: object = {}) => root.post<Body>('/-dead-letters/-replay', { ...body });
const places = ({ items }: Letters) => items.map(({ place }) => place);

describe('the list of dead letters', () => {
  it('is empty at first', async () => {
    expect(await list()).toEqual({
      ...{ kind: 'list', itemKind: 'deadletter', items: [] },
      links: [{ rel: 'self', href: '/-dead-letters' }],
    });
  });

  it('shows the position, reason and content of each record', async () => {
    await org.publish({ resource: { name: 'fine' } });
    await recorded(entry(ID, TOMORROW), garbage('not JSON'));
    const { items } = await list();
    expect(items).toEqual([
      {
        kind: 'deadletter',
        ...{ place: 'audit/0/1', topic: 'audit', partition: 0, offset: 1 },
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        reason: 'has schema version 2, not 1',
        key: `${org.name}//from-tomorrow`,
        bytes: entry(ID).value.byteLength,
        replayed: false,
      },
      expect.objectContaining({ place: 'audit/0/2', reason: 'is not JSON', key: 'key of not JSON\u0007', bytes: 8 }),
    ]);
    expect(Buffer.from((await list('?raw=true')).items[1]?.value ?? '', 'base64').toString()).toBe('not JSON');
  });

  it('tells an export with its proof which leaves are not indexed', async () => {
    await org.publish({ resource: { name: 'once' } }, { idempotencyKey: 'k' });
    await org.publish({ resource: { name: 'once' } }, { idempotencyKey: 'k' });
    await recorded(entry('x'.repeat(2_000)), garbage('not JSON'));
    await checkpointOfSize(org, 10);
    const { reasons } = await verifyProven(await provenExport(org), await vkeyOfLog(org));
    expect(reasons).toEqual({ duplicate: 1, unindexed: 1 });
  });

  it('has pages', async () => {
    await recorded(...Array.from({ length: 7 }, (_, n) => garbage(`g${n}`)));
    const seen: string[] = [];
    let next: string | undefined = '/-dead-letters?limit=3&open=true';
    for (let pages = 0; next !== undefined; pages += 1) {
      const { body } = await root.get<Letters>(next);
      expect(body.items.length).toBe(pages < 2 ? 3 : 1);
      seen.push(...places(body));
      next = linkOf(body, 'next');
    }
    expect(seen).toEqual(Array.from({ length: 7 }, (_, n) => `audit/0/${n}`));
  });

  it('ends a page with bytes before it gets too large', async () => {
    await recorded(...Array.from({ length: 7 }, (_, n) => garbage(`${n}`.repeat(850_000))));
    const first = await list('?raw=true');
    expect(first.items.map(({ value = '' }) => value.length * 0.75)).toEqual(
      Array(4).fill(expect.closeTo(850_000, -1)),
    );
    expect(places((await root.get<Letters>(linkOf(first, 'next') ?? '')).body)).toEqual(
      [4, 5, 6].map((n) => `audit/0/${n}`),
    );
  });

  it.each([
    ['?limit=0', 400, 'validation_failed'],
    ['?limit=1001', 400, 'validation_failed'],
    ['?open=yes', 400, 'validation_failed'],
    ['?raw=1', 400, 'validation_failed'],
    ['?cursor=x', 400, 'invalid_cursor'],
    [`?cursor=${Buffer.from('[0,"1"]').toString('base64url')}`, 400, 'invalid_cursor'],
  ])('refuses %s', async (query, status, code) => {
    const answer = await root.get<Refusal>(`/-dead-letters${query}`);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  it('shows a letter once, however often the log was read', async () => {
    await recorded(garbage('x'));
    await service.stop();
    rmSync(join(service.dataDir, 'read-model.db'));
    await recorded();
    expect(places(await list())).toEqual(['audit/0/0']);
    const metrics = (await root.get('/metrics')).text;
    expect(metrics).toContain('control_log_records{topic="audit.dead"} 2');
    expect(metrics).toContain('control_dead_letters_open 1');
  });
});

describe('a replay', () => {
  /** The record with headers that the program of today reads: as a newer version of it would find the old record. */
  async function letterOf(id: string): Promise<void> {
    await service.stop();
    const log = await EmbeddedEventLog.open({ file: join(service.dataDir, 'log.db') });
    const { key, value, headers } = entry(id);
    await log.append([
      {
        topic: 'audit.dead',
        key: 'audit/0/900',
        value,
        headers: {
          ...{ v: '1', reason: 'could not be read then', topic: 'audit', partition: '0', offset: '900' },
          ...{ time: '1767323045678', key, headers: JSON.stringify(headers) },
        },
      },
    ]);
    await log.close();
    service = await startService({ dataDir: service.dataDir });
    org = at(service, org);
    root = new Api(service.url, service.rootKey);
  }

  it('appends the record again, byte for byte, and the event is there; a second one adds nothing', async () => {
    await letterOf(ID);
    expect((await org.event(ID)).status).toBe(404);
    const { status, body } = await replay();
    expect([status, body]).toEqual([
      200,
      // Behind the records of the replay, in the journal of the service and of the organization.
      { kind: 'deadletterreplay', items: [{ place: 'audit/0/900', now: 'audit/0/2' }] },
    ]);
    await org.publish({ resource: { name: 'after' } });
    expect((await org.event(ID)).body.item).toMatchObject({ id: ID, resource: { name: 'from-tomorrow' } });

    expect((await list()).items.map(({ replayed }) => replayed)).toEqual([true]);
    expect((await root.get('/metrics')).text).toContain('control_dead_letters_open 0');
    expect((await list('?open=true')).items).toEqual([]);
    expect((await replay()).body.items).toEqual([]);
    const again = await replay({ places: ['audit/0/900'] });
    expect([again.status, again.body.code, again.body.details]).toEqual([
      409,
      'conflict',
      { replayed: ['audit/0/900'] },
    ]);
    expect((await replay({ places: ['audit/0/900'], force: true })).body.items).toEqual([
      { place: 'audit/0/900', now: 'audit/0/6' },
    ]);
    await org.publish({ resource: { name: 'after' } });
    expect((await org.named('from-tomorrow')).body.items).toHaveLength(1);
  });

  it('makes a new letter of what still cannot be read, and the old one is no longer open', async () => {
    await recorded(entry(ID, TOMORROW), garbage('x'));
    expect((await replay({ places: ['audit/0/1'] })).body.items).toEqual([{ place: 'audit/0/1', now: 'audit/0/3' }]);
    await org.publish({ resource: { name: 'after' } });
    expect((await list()).items.map(({ place, replayed }) => [place, replayed])).toEqual([
      ['audit/0/0', false],
      ['audit/0/1', true],
      ['audit/0/3', false],
    ]);
    expect(places(await list('?open=true'))).toEqual(['audit/0/0', 'audit/0/3']);
    expect((await list('?raw=true')).items.map(({ value }) => value)[2]).toBe(Buffer.from('x').toString('base64'));
  });

  it.each([
    [{ places: ['audit/0/77', 'audit/0/0', 'x'] }, ['/places/0', '/places/2']],
    [{ places: [] }, ['/places']],
    [{ places: [1] }, ['/places/0']],
    [{ places: 'audit/0/0' }, ['/places']],
    [{ force: true }, ['/force']],
    [{ force: 'yes', places: ['audit/0/0'], all: 1 }, ['/all', '/force']],
  ])('refuses %j, naming the place, and appends nothing', async (body, faults) => {
    await recorded(garbage('x'));
    const answer = await replay(body);
    expect([answer.status, answer.body.code, pointers(answer)]).toEqual([400, 'validation_failed', faults]);
    expect((await list('?open=true')).items).toHaveLength(1);
  });

  it('takes hundreds at once', async () => {
    await recorded(...Array.from({ length: 250 }, (_, n) => garbage(`g${n}`)));
    expect((await replay()).body.items.map(({ now }) => now)).toEqual(
      // One record in the journal before each hundred.
      Array.from({ length: 250 }, (_, n) => `audit/0/${n + 251 + Math.floor(n / 100)}`),
    );
    await org.publish({ resource: { name: 'after' } });
    expect((await list('?limit=1000')).items).toHaveLength(500);
    expect((await list('?limit=1000&open=true')).items).toHaveLength(250);
  });
});
