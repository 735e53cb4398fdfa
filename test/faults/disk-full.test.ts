import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { failDisk, repairDisk } from '../support/disk-faults.js';
import { PATIENCE } from '../support/patience.js';
import { startService, type TestService } from '../support/service.js';
import { canMountTmpfs, mountTmpfs } from '../support/tmpfs.js';
import { type Answer, bodyOf, Client } from './client.js';
import { eventOf } from './data-folder.js';

const PATH = '/audit/org/acme/auditctx/app';
const EVENT_BYTES = 60_000;
/** More than ever fit; a test that gets here has not filled its disk. */
const MOST_EVENTS = 500;

interface Filled {
  readonly acknowledged: readonly string[];
  readonly refusal: Answer;
}

/** Publishes without waiting for the read model until the log takes no more. */
async function fill(client: Client): Promise<Filled> {
  const acknowledged: string[] = [];
  for (let n = 0; n < MOST_EVENTS; n += 1) {
    const answer = await client.post(`${PATH}?async=true`, eventOf(`fill-${n}`, EVENT_BYTES));
    if (answer.status !== 202) return { acknowledged, refusal: answer };
    acknowledged.push(bodyOf<{ id: string }>(answer).id);
  }
  throw new Error('the disk is not full');
}

function expectRefusal({ status, headers, text }: Answer): void {
  expect({ status, ...JSON.parse(text) }).toMatchObject({ status: 503, code: 'log_unavailable' });
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
}

async function listed(client: Client): Promise<string[]> {
  const events = await client.all('/audit/org/acme?contextName=app&order=received&pageSize=100');
  return events.map(({ id }) => id);
}

/** Waits until a sync publish is answered as searchable: by then, everything before it is. */
async function untilSearchable(client: Client): Promise<string> {
  for (const deadline = Date.now() + 10_000 * PATIENCE; ; ) {
    const answer = await client.post(PATH, eventOf('searchable'));
    if (answer.status === 201) return bodyOf<{ id: string }>(answer).id;
    if (Date.now() > deadline) throw new Error(`does not get on: ${answer.status} ${answer.text}`);
  }
}

/** The disk takes no more, in the file of the log's records alone. */
describe('a log that cannot grow', () => {
  let service: TestService;
  let acme: Client;
  let filled: Filled;

  beforeAll(async () => {
    service = await startService();
    acme = await new Client(service.url, service.rootKey).org('acme');
    failDisk(join(service.dataDir, 'log.records'), 1_200_000);
    filled = await fill(acme);
  });
  afterAll(async () => {
    repairDisk(join(service.dataDir, 'log.records'));
    await service.remove();
  });

  test('answers 503 log_unavailable with Retry-After, single and bulk', async () => {
    expectRefusal(filled.refusal);
    expectRefusal(await acme.post(`${PATH}/-bulk`, [eventOf('a', EVENT_BYTES), eventOf('b', EVENT_BYTES)]));
  });

  test('refuses a new organization in the same way', async () => {
    const tags = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`tag-${n}`, 'x'.repeat(200)]));
    const admin = new Client(service.url, service.rootKey);
    // Its record is small: some may still fit into what the large events left.
    let answer = await admin.post('/org', { name: 'no-space', tags });
    for (let n = 0; answer.status === 201 && n < 20; n += 1)
      answer = await admin.post('/org', { name: `fits-${n}`, tags });

    expectRefusal(answer);
  });

  test('goes on to answer what it acknowledged, and nothing of what it refused', async () => {
    expect(filled.acknowledged.length).toBeGreaterThan(1);
    expect(await listed(acme)).toEqual(filled.acknowledged);
  });

  test('takes events again as soon as there is space', async () => {
    repairDisk(join(service.dataDir, 'log.records'));

    const id = await untilSearchable(acme);

    expect(await listed(acme)).toEqual([...filled.acknowledged, id]);
  });
});

const canMount = canMountTmpfs();

/** Log and read model share the disk, as in the field: neither can write. */
(canMount ? describe : describe.skip)('a disk that is full', () => {
  let dataDir = '';
  let service: TestService;
  let acme: Client;
  let filled: Filled;

  const restart = async () => {
    await service.stop();
    service = await startService({ dataDir });
    acme = new Client(service.url, acme.key);
  };

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'control-disk-'));
    mountTmpfs(dataDir, 'size=3m,mode=0700');
    service = await startService({ dataDir, env: { CONTROL_SYNC_TIMEOUT_MS: '500' } });
    acme = await new Client(service.url, service.rootKey).org('acme');
    filled = await fill(acme);
  });
  afterEach(async () => {
    await service.stop();
    execFileSync('umount', [dataDir]);
    rmSync(dataDir, { recursive: true, force: true });
  });
  const makeSpace = () => mountTmpfs(dataDir, 'remount,size=64m');

  test('answers 503 log_unavailable with Retry-After, and stays alive', async () => {
    expectRefusal(filled.refusal);
    expect((await acme.get('/health/live')).status).toBe(200);
  });

  test('has everything that was acknowledged, in order, as soon as there is space', async () => {
    makeSpace();

    const id = await untilSearchable(acme);

    const ids = await listed(acme);
    expect(ids.slice(0, filled.acknowledged.length)).toEqual(filled.acknowledged);
    expect(ids).toContain(id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('has everything that was acknowledged after a restart with space', async () => {
    await service.stop();
    makeSpace();
    await restart();

    expect(await listed(acme)).toEqual(filled.acknowledged);
  });

  test('lets a start wait or fail with the remedy, and serve nothing less than everything', async () => {
    await service.stop();
    fillUp(dataDir);

    const starting = startService({ dataDir }).catch((error: unknown) => ({ error }));
    const early = await Promise.race([starting, delay(700)]);
    makeSpace();
    const started = await starting;

    if (early && 'error' in early) {
      expect(early.error).toMatchObject({ name: 'StoreUnusable', message: expect.stringContaining('free some space') });
    }
    service = 'error' in started ? await startService({ dataDir }) : started;
    expect(await listed(new Client(service.url, acme.key))).toEqual(filled.acknowledged);
  });
});

function fillUp(folder: string): void {
  for (let n = 0; ; n += 1) {
    try {
      writeFileSync(join(folder, `filler-${n}.bin`), new Uint8Array(4096));
    } catch {
      return;
    }
  }
}
