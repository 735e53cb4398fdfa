import { cpSync, existsSync, mkdtempSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { disk } from '../../src/platform/disk.js';
import { EmbeddedReadModel } from '../../src/read-model/embedded/read-model.js';
import { PATIENCE } from '../support/patience.js';
import { type EmbeddedModelHarness, openEmbeddedReadModel, SQLITE_FULL, SQLITE_IOERR } from './embedded.harness.js';
import { settled, sleep } from './harness.js';
import { event, events, found, idAt, nextOf, none, ORG, place, repair, scan, search } from './read-model.harness.js';

const UNAVAILABLE = { error: { name: 'ControlError', code: 'read_model_unavailable' } };
const LOST = { error: { name: 'GenerationLost' } };

let harness: EmbeddedModelHarness;
beforeEach(async () => {
  harness = await openEmbeddedReadModel();
});
afterEach(() => harness.destroy());

/** The progress that a start after a crash at this moment finds. */
async function afterCrash(): Promise<number | undefined> {
  const folder = mkdtempSync(join(dirname(harness.file), 'crash-'));
  for (const suffix of ['', '-wal'])
    if (existsSync(harness.file + suffix)) cpSync(harness.file + suffix, join(folder, `read-model.db${suffix}`));
  const { records } = harness;
  const left = await EmbeddedReadModel.open({ file: join(folder, 'read-model.db'), logId: 'a-log', records });
  try {
    const [next = 0] = nextOf(await left.progress('audit'), 0);
    // Documents and progress are of one commit.
    expect(await left.count('auditevent', ORG)).toEqual(new Map(next > 0 ? [['shop', next]] : []));
    return next;
  } finally {
    await left.close();
  }
}

/** Events `from` to `to - 1`, with the progress that they bring. */
function apply(from: number, to: number): Promise<unknown> {
  return harness.model.apply('audit', events(from, to), { 0: to }, { 0: from });
}

describe('a commit', () => {
  test('is not needed for a read', async () => {
    await apply(0, 10);

    expect(await found(harness.model)).toHaveLength(10);
    expect(await afterCrash()).toBe(0);
  });

  test('follows after 50,000 writes', async () => {
    for (let n = 0; n < 50_000; n += 1_000) await apply(n, n + 1_000);
    await apply(50_000, 50_001);

    expect(await afterCrash()).toBe(50_000);
  });

  test('follows after 8 MiB of sources', async () => {
    const source = JSON.stringify({ fill: 'x'.repeat(1024 * 1024) });
    for (let n = 0; n < 8; n += 1) await harness.model.apply('audit', [event(n, { source })], { 0: n + 1 });
    await apply(8, 9);

    expect(await afterCrash()).toBe(8);
  });

  test('follows after seconds', async () => {
    await apply(0, 10);
    const deadline = Date.now() + 30_000 * PATIENCE;
    while ((await afterCrash()) !== 10 && Date.now() < deadline) await sleep(100);

    expect(await afterCrash()).toBe(10);
  });

  test('is put off while the disk has no room for it, and reads go on', async () => {
    const { free } = disk;
    disk.free = () => 1024 * 1024;
    try {
      harness.failCommits(SQLITE_FULL);
      for (let n = 0; n < 51_000; n += 1_000) await apply(n, n + 1_000);

      expect((await search(harness.model)).items.length).toBeGreaterThan(0);
      expect((await harness.model.count('auditevent', ORG)).get('shop')).toBe(51_000);
    } finally {
      disk.free = free;
      repair(harness);
    }
    await apply(51_000, 51_001);
    expect(await afterCrash()).toBe(51_001);
  });

  test('comes with a repair, a seal and a close', async () => {
    await apply(0, 3);
    await harness.model.overwrite(event(1));
    expect(await afterCrash()).toBe(3);
    await apply(3, 5);
    const next = await harness.model.begin();
    await next.seal(60_000);
    expect(await afterCrash()).toBe(5);
    await next.discard();
    await apply(5, 7);
    await harness.model.close();
    expect(await afterCrash()).toBe(7);
  });
});

describe.each([
  ['out of space', SQLITE_FULL],
  ['of an I/O error', SQLITE_IOERR],
])('a commit that fails because %s', (_why, errcode) => {
  /** Commits 0 to 9, applies 10 to 29, and loses the latter. */
  async function fall(): Promise<void> {
    await apply(0, 10);
    await harness.model.overwrite(event(1));
    await apply(10, 20);
    await apply(20, 30);
    harness.failCommits(errcode);
    expect(await settled(harness.model.overwrite(event(1)))).toMatchObject({ error: { errcode } });
    repair(harness);
  }

  test('sets the progress back to the last one, so that the projection goes on from there', async () => {
    await fall();

    expect(nextOf(await harness.model.progress('audit'), 0)).toEqual([10]);
    expect(await settled(apply(30, 40))).toMatchObject(LOST);
    await apply(10, 40);
    expect(await found(harness.model)).toHaveLength(40);
    expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 40]]));
  });

  test('refuses reads until all that they had shown is applied again', async () => {
    await fall();
    const { model } = harness;
    const reads = (): Promise<unknown>[] => [
      model.get('auditevent', ORG, idAt(1)),
      search(model),
      search(model, { order: 'received' }),
      model.last('auditevent', { org: ORG, filters: [], limit: 1 }),
      model.count('auditevent', ORG),
      scan(model),
      model.strays('auditevent', { audit: { 0: 1 } }, { limit: 1 }),
    ];
    for (const read of reads()) expect(await settled(read)).toMatchObject(UNAVAILABLE);
    await model.refresh();
    await apply(10, 29);
    for (const read of reads()) expect(await settled(read)).toMatchObject(UNAVAILABLE);
    await apply(29, 30);

    for (const read of reads()) expect(await settled(read)).toHaveProperty('value');
    expect(await found(model)).toHaveLength(30);
  });

  test('ends a search under way', async () => {
    await apply(0, 10);
    await harness.model.overwrite(event(1));
    for (let n = 10; n < 40_010; n += 500) await apply(n, n + 500);
    const filters = [{ field: 'podId', op: '=', value: 'none' }] as const;
    const searching = settled(search(harness.model, { filters }));
    harness.failCommits(errcode);
    await settled(harness.model.overwrite(event(1)));
    repair(harness);

    expect(await searching).toMatchObject(UNAVAILABLE);
  });

  test('loses nothing when it is the first of all, and the batch is applied again', async () => {
    harness.failCommits(errcode);
    expect(await settled(harness.model.overwrite(event(0)))).toMatchObject({ error: { errcode } });
    expect(await settled(apply(0, 2))).toMatchObject({ error: { errcode } });
    expect(await found(harness.model)).toEqual([]);
    repair(harness);
    await apply(0, 2);

    expect(await found(harness.model)).toEqual([0, 1]);
  });

  test('is followed by a commit of each batch, so that little is lost again', async () => {
    await fall();
    await apply(10, 30);

    expect(await afterCrash()).toBe(30);
  });

  test('at a close leaves the last one', async () => {
    await apply(0, 10);
    await harness.model.overwrite(event(1));
    await apply(10, 30);
    harness.failCommits(errcode);
    await harness.model.close();
    repair(harness);

    expect(nextOf(await (await harness.reopen()).progress('audit'), 0)).toEqual([10]);
  });
});

test('a file that really cannot grow loses nothing that was read, once it can', async () => {
  const db: DatabaseSync = Reflect.get(Reflect.get(harness.model, 'current'), 'database');
  await apply(0, 100);
  await harness.model.overwrite(event(1));
  db.exec(`PRAGMA max_page_count = ${Number(db.prepare('PRAGMA page_count').get()?.page_count) + 40}`);
  const source = JSON.stringify({ fill: 'x'.repeat(30_000) });
  const heavy = (n: number) => event(n, { source, place: place(n) });
  let reached = 100;
  let failure: unknown;
  for (; !failure && reached < 1_000; reached += 1) {
    const outcome = await settled(harness.model.apply('audit', [heavy(reached)], { 0: reached + 1 }, { 0: reached }));
    failure = 'error' in outcome ? outcome.error : undefined;
  }
  const applied = reached - 1;
  expect(failure).toMatchObject({ errcode: SQLITE_FULL });
  expect(applied).toBeGreaterThan(101);
  const shown = await settled(search(harness.model));
  if ('value' in shown) expect(shown.value.items).toHaveLength(applied);
  else expect(shown).toMatchObject(UNAVAILABLE);

  db.exec('PRAGMA max_page_count = 100000');
  const [next = 0] = nextOf(await harness.model.progress('audit'), 0);
  for (let n = next; n < applied; n += 1) await harness.model.apply('audit', [heavy(n)], { 0: n + 1 }, { 0: n });

  expect((await search(harness.model)).items).toHaveLength(applied);
  expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', applied]]));
  expect(await harness.model.apply('audit', [], none)).toEqual([]);
});
