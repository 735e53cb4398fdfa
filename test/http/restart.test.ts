import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnusable } from '../../src/platform/store-unusable.js';
import { at, linkOf, newOrg, type Org } from '../support/api.js';
import { PATIENCE } from '../support/patience.js';
import { startService, type TestService } from '../support/service.js';

/** The process must have ended by then, or it is ended. */
const STOP_MS = 8_000 * PATIENCE;

const READ_MODEL = ['read-model.db', 'read-model.db-wal', 'read-model.db-shm'];

let dataDir: string;
const running: TestService[] = [];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'control-restart-'));
});

afterEach(async () => {
  for (const service of running.splice(0)) await service.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(folder = dataDir): Promise<TestService> {
  const service = await startService({ dataDir: folder });
  running.push(service);
  return service;
}

/** Two organizations with events of every sort: keyed, repeated, conflicting, bulk, old, with exact numbers. */
async function filled(service: TestService): Promise<Org[]> {
  const orgs = [await newOrg(service), await newOrg(service)];
  for (const org of orgs) {
    await org.publish({ resource: { id: 'r-1', name: 'a/ü' }, eventTime: '1999-01-01T00:00:00.000Z' });
    await org.publish('{"resource":{"id":"r-1","name":"a/ü","data":{"n":12345678901234567890,"z":1,"a":2}}}');
    for (const name of ['first', 'first', 'second']) await org.publish({ resource: { name } }, { idempotencyKey: 'k' });
    await org.bulk(
      Array.from({ length: 30 }, (_, index) => ({ resource: { id: 'r-1', name: `n${index % 3}` } })),
      { context: 'bulk', async: true },
    );
    await org.publish({ resource: { name: 'last' } });
  }
  return orgs;
}

/** Everything that can be read, as the very bytes that were answered. */
async function everything(orgs: readonly Org[]): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  const visit = async (org: Org, path: string | undefined) => {
    for (let next = path; next !== undefined; ) {
      const { status, text, body } = await org.api.get(next);
      if (status !== 200) throw new Error(`${next} answered ${status}`);
      texts.set(`${org.name} ${next}`, text);
      next = body.links && linkOf(body, 'next');
    }
  };
  for (const org of orgs) {
    await visit(org, `/org/${org.name}`);
    await visit(org, `${org.audit}/auditctx`);
    for (const query of [
      'pageSize=7',
      'pageSize=7&order=received',
      'contextName=bulk',
      'toEvent=2000-01-01T00:00:00Z',
    ]) {
      await visit(org, `${org.audit}?${query}`);
      await visit(org, `${org.audit}/resource/name/${encodeURIComponent('a/ü')}?${query}`);
      await visit(org, `${org.audit}/resource/id/r-1?${query}`);
    }
    for (const { id } of await org.walk(`${org.audit}?pageSize=1000`)) await visit(org, `${org.audit}/id/${id}`);
  }
  return texts;
}

/** Runs `between` while the service is down, and compares what it answers before and after. */
async function expectSameAnswers(between: (folder: string) => void | Promise<void>): Promise<void> {
  const before = await start();
  const orgs = await filled(before);
  const expected = await everything(orgs);
  expect(expected.size).toBeGreaterThan(80);
  await before.stop();
  await between(dataDir);
  const after = await start();
  expect(await everything(orgs.map((org) => at(after, org)))).toEqual(expected);
}

/** Fails rather than waits when the service does not stop in time. */
async function expectQuick(stopping: Promise<unknown> | undefined): Promise<void> {
  const late = delay(STOP_MS, 'late', { ref: false });
  if ((await Promise.race([stopping, late])) !== 'late') return;
  running.length = 0;
  throw new Error(`the service did not stop within ${STOP_MS} ms, although nothing is under way any more`);
}

describe('after a restart every response is the same, byte for byte', () => {
  test('when nothing happened between', () => expectSameAnswers(() => undefined));

  test('when the read model was deleted', () =>
    expectSameAnswers((folder) => {
      expect(existsSync(join(folder, 'read-model.db'))).toBe(true);
      for (const file of READ_MODEL) rmSync(join(folder, file), { force: true });
    }));

  test('when the read model is one of another log', () =>
    expectSameAnswers(async (folder) => {
      const elsewhere = mkdtempSync(join(tmpdir(), 'control-elsewhere-'));
      try {
        const other = await start(elsewhere);
        await filled(other);
        await other.stop();
        for (const file of READ_MODEL) rmSync(join(folder, file), { force: true });
        copyFileSync(join(elsewhere, 'read-model.db'), join(folder, 'read-model.db'));
      } finally {
        rmSync(elsewhere, { recursive: true, force: true });
      }
    }));

  test('when the read model is damaged', () =>
    expectSameAnswers((folder) => {
      const file = join(folder, 'read-model.db');
      writeFileSync(file, readFileSync(file).subarray(0, 5_000));
    }));

  test('when the read model is an older copy of itself', async () => {
    const service = await start();
    const [org] = await filled(service);
    await service.stop();
    copyFileSync(join(dataDir, 'read-model.db'), join(dataDir, 'older'));
    const second = await start();
    const again = at(second, org as Org);
    await again.bulk(Array.from({ length: 20 }, (_, index) => ({ resource: { name: `late${index}` } })));
    const expected = await everything([again]);
    await second.stop();
    for (const file of READ_MODEL) rmSync(join(dataDir, file), { force: true });
    copyFileSync(join(dataDir, 'older'), join(dataDir, 'read-model.db'));
    const third = await start();
    expect(await everything([at(third, again)])).toEqual(expected);
  });
});

describe('what was going on across a restart', () => {
  test('is still valid: keys, cursors and resume links', async () => {
    const before = await start();
    const [org] = await filled(before);
    const newest = (await (org as Org).list({ pageSize: '5' })).body;
    const received = (await (org as Org).list({ order: 'received', pageSize: '1000' })).body;
    const second = await (org as Org).api.get(linkOf(newest, 'next') ?? '');
    await before.stop();
    for (const file of READ_MODEL) rmSync(join(dataDir, file), { force: true });
    const after = await start();
    const again = at(after, org as Org);
    expect((await again.api.get(linkOf(newest, 'next') ?? '')).text).toBe(second.text);
    await again.publish({ resource: { name: 'new' }, eventTime: '1999-01-01T00:00:00Z' });
    const resumed = await again.api.get(linkOf(received, 'resume') ?? '');
    expect(resumed.body.items.map(({ resource }) => resource.name)).toEqual(['new']);
  });

  test('is kept when it was acknowledged: a stop amid publishing is quick, and loses and doubles nothing', async () => {
    const before = await start();
    const org = await newOrg(before);
    const acknowledged: string[] = [];
    let stopping: Promise<void> | undefined;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let index = 0; ; index += 1) {
        const options = { async: index % 2 === 0 };
        const answer = await org.publish({ resource: { name: `w${writer}-${index}` } }, options).catch(() => undefined);
        if (answer === undefined || answer.status === 503) return;
        expect([201, 202]).toContain(answer.status);
        acknowledged.push(answer.body.id);
        if (acknowledged.length === 200) stopping = before.stop();
      }
    });
    await Promise.all(writers);
    await expectQuick(stopping);
    const after = at(await start(), org);
    const found = (await after.walk(`${after.audit}?contextName=app&pageSize=1000`)).map(({ id }) => id);
    expect(acknowledged.length).toBeGreaterThanOrEqual(200);
    expect(new Set(found).size).toBe(found.length);
    expect(acknowledged.filter((id) => !found.includes(id))).toEqual([]);
  });

  test('is answered to the end when a slow client still reads as the stop begins, and its connection is not waited for', async () => {
    const before = await start();
    const org = await newOrg(before);
    const data = { text: 'x'.repeat(200_000) };
    await org.bulk(Array.from({ length: 40 }, () => ({ resource: { name: 'large', data } })));
    const { hostname, port } = new URL(before.url);
    const agent = new Agent({ keepAlive: true });
    try {
      const path = `${org.audit}/resource/name/large`;
      const sent = request({ hostname, port, path, agent, headers: { authorization: org.key } }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      const stopping = before.stop();
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += chunk;
      // A page ends at 4 MiB.
      const { items, links } = JSON.parse(text) as { items: unknown[]; links: { rel: string }[] };
      expect(items.length).toBeGreaterThan(20);
      expect(links.map(({ rel }) => rel)).toContain('next');
      await expectQuick(stopping);
    } finally {
      agent.destroy();
    }
  });

  test('is answered and kept when its body was still on the way as the stop began', async () => {
    const before = await start();
    const org = await newOrg(before);
    const { hostname, port } = new URL(before.url);
    const body = JSON.stringify({ resource: { name: 'slow' } });
    const slow = request({
      hostname,
      port,
      method: 'POST',
      path: `${org.audit}/auditctx/app`,
      headers: {
        authorization: org.key,
        'content-type': 'application/json',
        'content-length': body.length,
        expect: '100-continue',
      },
      agent: false,
    });
    const answered = once(slow, 'response');
    const underWay = once(slow, 'continue');
    slow.flushHeaders();
    await underWay;
    slow.write(body.slice(0, 10));
    const stopping = before.stop();
    slow.end(body.slice(10));
    const [response] = (await answered) as [IncomingMessage];
    response.resume();
    await stopping;
    expect([201, 202]).toContain(response.statusCode);
    const after = at(await start(), org);
    expect((await after.named('slow')).body.items).toHaveLength(1);
  });

  test('is the root key, which the data folder keeps for its owner alone', async () => {
    const before = await start();
    await before.stop();
    const after = await start();
    expect(after.rootKey).toBe(before.rootKey);
    await expect(newOrg(after)).resolves.toMatchObject({ name: expect.any(String) });
  });
});

describe('the service refuses to start', () => {
  test('on the data folder of a running one, which goes on undisturbed', async () => {
    const first = await start();
    const org = await newOrg(first);
    const refused = startService({ dataDir });
    await expect(refused).rejects.toThrow(StoreUnusable);
    await expect(refused).rejects.toThrow(/log\.db: another process uses it.*CONTROL_DATA_DIR/);
    expect((await org.publish({ resource: { name: 'x' } })).status).toBe(201);
  });

  test('on a log that is no database, and leaves it as it is', async () => {
    const garbage = Buffer.from('this is not a log, but somebody may still want it\n'.repeat(200));
    writeFileSync(join(dataDir, 'log.db'), garbage);
    const refused = startService({ dataDir });
    await expect(refused).rejects.toThrow(StoreUnusable);
    await expect(refused).rejects.toThrow(/log\.db: it is not a database.*left untouched/);
    expect(readFileSync(join(dataDir, 'log.db')).equals(garbage)).toBe(true);
    expect(readdirSync(dataDir)).toEqual(['log.db']);
  });

  test('on a log that was cut off, and leaves it as it is', async () => {
    const service = await start();
    await filled(service);
    await service.stop();
    for (const name of ['log.records', 'log.db']) {
      const file = join(dataDir, name);
      const cut = readFileSync(file).subarray(0, 10_000);
      writeFileSync(file, cut);
      await expect(startService({ dataDir })).rejects.toThrow(StoreUnusable);
      expect(readFileSync(file).equals(cut)).toBe(true);
    }
  });

  test('on a port that is taken, and gives its data folder back', async () => {
    const first = await start();
    const elsewhere = mkdtempSync(join(tmpdir(), 'control-port-'));
    try {
      const env = { CONTROL_PORT: new URL(first.url).port };
      await expect(startService({ dataDir: elsewhere, env })).rejects.toThrow(/EADDRINUSE/);
      await (await startService({ dataDir: elsewhere })).stop();
    } finally {
      rmSync(elsewhere, { recursive: true, force: true });
    }
  });
});

test('a stopped service leaves nothing but its files: no write-ahead log is needed to read them', async () => {
  const service = await start();
  await newOrg(service);
  await service.stop();
  const names = readdirSync(dataDir).filter((name) => !name.endsWith('.places'));
  const secrets = ['checkpoint.key', 'root.key', 'service.secret'];
  expect(names.sort()).toEqual([...secrets, 'log.db', 'log.records', 'read-model.db', 'tlog.db'].sort());
});
