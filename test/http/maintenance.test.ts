import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { Api, at, newOrg, type Org, pointers, type Refusal } from '../support/api.js';
import { PATIENCE } from '../support/patience.js';
import { startService, type TestService } from '../support/service.js';
import { addFunctions } from '../support/stored-sql.js';

interface Finding {
  readonly problem: string;
  readonly itemKind: string;
  readonly id: string;
  readonly repaired?: boolean;
}

interface Job {
  readonly kind: string;
  readonly name: string;
  readonly state: string;
  readonly id: string;
  readonly phase: string;
  readonly done: number;
  readonly total: number;
  readonly error?: string;
  readonly report?: {
    readonly kind: string;
    readonly records: number;
    readonly compared: number;
    readonly repaired?: number;
    readonly differences: Readonly<Record<string, number>>;
    readonly items: readonly Finding[];
  };
}

let service: TestService;
let org: Org;
let root: Api;

beforeAll(async () => {
  service = await startService();
  org = await newOrg(service);
  root = new Api(service.url, service.rootKey);
});

afterAll(() => service.remove());

/** Waits for the job that runs, and answers it as it ended. */
async function ended(path: string): Promise<Job> {
  for (const deadline = Date.now() + 25_000 * PATIENCE; ; await delay(10)) {
    const { body } = await root.get<Job>(path);
    if (body.state !== 'running') return body;
    if (Date.now() > deadline) throw new Error(`it does not end: ${JSON.stringify(body)}`);
  }
}

async function done(path: string, body: object = {}): Promise<NonNullable<Job['report']>> {
  const { status, text } = await root.post(path, { ...body });
  if (status !== 202) throw new Error(`${path} answered ${status}: ${text}`);
  const job = await ended(path);
  if (!job.report) throw new Error(`${path} failed: ${JSON.stringify(job)}`);
  return job.report;
}

const metrics = async () => (await root.get(`/metrics`)).text;

describe.each(['/-rebuild', '/-reconcile', '/-dead-letters'])('%s', (path) => {
  it('is for the holder of the root key alone', async () => {
    expect((await new Api(service.url).get(path)).status).toBe(401);
    expect((await new Api(service.url, 'wrong').get(path)).status).toBe(401);
    expect((await org.api.get(path)).status).toBe(403);
    expect((await root.get(path)).status).toBe(200);
    const post = path === '/-dead-letters' ? `${path}/-replay` : path;
    expect((await org.api.post(post, {})).status).toBe(403);
    expect((await new Api(service.url).post(post, {})).status).toBe(401);
  });

  it('takes no parameters that it does not know', async () => {
    const answer = await root.get<Refusal>(`${path}?fast=1`);
    expect([answer.status, pointers(answer)]).toEqual([400, ['?fast']]);
  });
});

describe('a rebuild', () => {
  it('is answered at once, and tells what became of it', async () => {
    const { status, headers, body } = await root.send<Job>('POST', '/-rebuild');
    expect([status, headers.get('location')]).toEqual([202, '/-rebuild']);
    expect(body).toMatchObject({ kind: 'job', name: 'rebuild', state: 'running', id: expect.any(String) });
    expect(await ended('/-rebuild')).toMatchObject({
      kind: 'job',
      ...{ name: 'rebuild', state: 'done', id: body.id },
      report: { kind: 'rebuild', differences: { missing: 0, altered: 0, extra: 0 }, items: [] },
      links: [{ rel: 'self', href: '/-rebuild' }],
    });
  });

  it('takes no body that says something', async () => {
    const answer = await root.post<Refusal>('/-rebuild', { fast: true, 'a/b': 1 });
    expect([answer.status, pointers(answer)]).toEqual([400, ['/a~1b', '/fast']]);
    expect((await root.post<Refusal>('/-rebuild', [])).status).toBe(400);
  });

  it('keeps other jobs out while it runs', async () => {
    await root.post('/-rebuild', {});
    const others = await Promise.all([root.post<Refusal>('/-rebuild', {}), root.post<Refusal>('/-reconcile', {})]);
    expect(others.map(({ status, body }) => [status, body.code])).toEqual(Array(2).fill([409, 'conflict']));
    const scraped = await metrics();
    expect(scraped).toContain('control_job_state{name="rebuild",state="running"} 1');
    expect(scraped).toMatch(/^control_job_records\{name="rebuild",which="total"\} \d+$/m);
    expect((await ended('/-rebuild')).state).toBe('done');
    expect(await metrics()).toContain('control_job_state{name="rebuild",state="done"} 1');
  });

  it('under load: every acknowledged event is read all the time, and none waits long', async () => {
    for (let batch = 0; batch < 10; batch += 1) {
      const events = Array.from({ length: 500 }, (_, n) => ({ resource: { name: `load-${batch * 500 + n}` } }));
      expect((await org.bulk(events)).body.succeeded).toBe(500);
    }
    let stopped = false;
    const known: string[] = [];
    const slow: number[] = [];
    const missed: string[] = [];
    const timed = async <Result>(work: () => Promise<Result>): Promise<Result> => {
      const start = performance.now();
      const result = await work();
      slow.push(performance.now() - start);
      return result;
    };
    const writer = async (name: string) => {
      while (!stopped) {
        const { status, body } = await timed(() => org.publish({ resource: { name } }));
        if (status !== 201) missed.push(`a publish answered ${status}`);
        if ((await org.event(body.id)).status !== 200) missed.push(body.id);
        known.push(body.id);
      }
    };
    const reader = async () => {
      for (let turn = 0; !stopped; turn += 1) {
        const id = known[(turn * 7919) % known.length];
        if (id !== undefined && (await timed(() => org.event(id))).status !== 200) missed.push(id);
        const name = `load-${(turn * 13) % 5000}`;
        if ((await org.named(name)).body.items.length !== 1) missed.push(name);
      }
    };
    const load = [writer('w'), writer('w'), writer('w'), reader(), reader()];
    await delay(200);
    const reports = [await done('/-rebuild'), await done('/-rebuild')];
    stopped = true;
    await Promise.all(load);

    expect(missed).toEqual([]);
    for (const report of reports) {
      expect(report.differences).toEqual({ missing: 0, altered: 0, extra: 0 });
      expect(report.records).toBeGreaterThan(5_000);
    }
    expect(known.length).toBeGreaterThan(50);
    expect(slow.sort((a, b) => a - b)[Math.floor(slow.length * 0.95)]).toBeLessThan(500 * PATIENCE);
    const events = await org.walk(`${org.audit}?pageSize=1000&contextName=app&order=received`);
    expect(events).toHaveLength(5_000 + known.length);
    expect((await done('/-reconcile')).differences).toEqual({ missing: 0, altered: 0, extra: 0, misplaced: 0 });
  });
});

describe('a reconciliation', () => {
  it('names what is not as the log says, tells it in the metrics, and repairs it', async () => {
    const lost = await org.published({ resource: { name: 'lost' } });
    const altered = await org.published({ resource: { name: 'altered' } });
    await service.stop();
    const db = new DatabaseSync(join(service.dataDir, 'read-model.db'));
    addFunctions(db);
    db.exec(`DELETE FROM auditevent WHERE id = stored('${lost.id}')`);
    db.exec(`UPDATE auditevent SET source = '{}' WHERE id = stored('${altered.id}')`);
    db.close();
    service = await startService({ dataDir: service.dataDir });
    org = at(service, org);
    root = new Api(service.url, service.rootKey);
    expect((await root.get<Job>('/-reconcile')).body).toMatchObject({ kind: 'job', state: 'idle' });
    expect((await org.event(lost.id)).status).toBe(404);

    const found = await done('/-reconcile');
    expect(found).toMatchObject({
      kind: 'reconciliation',
      differences: { missing: 1, altered: 1, extra: 0, misplaced: 0 },
      repaired: 0,
    });
    expect(found.items.map(({ problem, id }) => [problem, id])).toEqual(
      expect.arrayContaining([
        ['altered', altered.id],
        ['missing', lost.id],
      ]),
    );
    expect(await metrics()).toContain('control_reconcile_differences{problem="missing"} 1');
    const stamp = /control_reconcile_last_run_timestamp_seconds (\d+)/.exec(await metrics())?.[1];
    expect(Number(stamp) * 1000).toBeGreaterThan(Date.now() - 60_000);

    expect(await done('/-reconcile', { repair: true })).toMatchObject({ repaired: 2 });
    expect((await org.event(lost.id)).body.item).toEqual(lost);
    expect((await org.event(altered.id)).body.item).toEqual(altered);
    expect((await done('/-reconcile')).differences).toEqual({ missing: 0, altered: 0, extra: 0, misplaced: 0 });
    expect(await metrics()).toContain('control_reconcile_differences{problem="missing"} 0');
  });

  it('compares the part of the log that it is asked to', async () => {
    const head = (await done('/-reconcile', { topic: 'audit' })).compared;
    expect((await done('/-reconcile', { topic: 'audit', partition: 0, from: 10, to: 30 })).compared).toBe(20);
    expect((await done('/-reconcile', { topic: 'audit', from: 10 })).compared).toBe(head - 10);
    expect((await done('/-reconcile', { topic: 'control' })).compared).toBe(13);
  });

  it.each([
    [{ topic: 'audit.dead' }, ['/topic']],
    [{ partition: 0, from: 1, to: 2 }, ['/from', '/partition', '/to']],
    [{ topic: 'audit', from: 3, to: 2 }, ['/from']],
    [{ topic: 'audit', partition: 7 }, ['/partition']],
    [{ topic: 'audit', from: -1, to: 1.5, partition: '0' }, ['/from', '/partition', '/to']],
    [{ repair: 'yes', all: true }, ['/all', '/repair']],
  ])('refuses %j, naming the place', async (body, places) => {
    const answer = await root.post<Refusal>('/-reconcile', body);
    expect([answer.status, answer.body.code, pointers(answer)]).toEqual([400, 'validation_failed', places]);
  });
});

it('a stop ends a job that runs, and leaves what serves as it was', async () => {
  const { id } = await org.published({ resource: { name: 'before' } });
  expect((await root.post('/-rebuild', {})).status).toBe(202);
  await service.stop();
  service = await startService({ dataDir: service.dataDir });
  org = at(service, org);
  root = new Api(service.url, service.rootKey);
  expect((await org.event(id)).status).toBe(200);
  expect((await done('/-reconcile')).differences).toEqual({ missing: 0, altered: 0, extra: 0, misplaced: 0 });
});
