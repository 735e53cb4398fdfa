import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pino } from 'pino';
import { openEmbeddedStore } from '../../src/composition/store.js';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import { systemClock } from '../../src/platform/clock.js';
import { Turns } from '../../src/platform/turns.js';
import { EmbeddedReadModel } from '../../src/read-model/embedded/read-model.js';
import { KEEP_ALL } from '../../src/read-model/retention.js';
import { type EmbeddedModelHarness, openEmbeddedReadModel } from './embedded.harness.js';
import { settled } from './harness.js';
import {
  codes,
  event,
  events,
  found,
  idAt,
  ids,
  none,
  ORG,
  promote,
  put,
  rebuild,
  START,
  scan,
  search,
  store,
  strays,
} from './read-model.harness.js';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

let harness: EmbeddedModelHarness;
beforeEach(async () => {
  harness = await openEmbeddedReadModel();
});
afterEach(() => harness.destroy());

describe('the file of the next generation', () => {
  test('is there while it is filled, and goes with a discard, a close, the next begin and the next open', async () => {
    const files = () => readdirSync(dirname(harness.file)).filter((name) => name.includes('.next'));
    const first = await harness.model.begin();
    await store(first, events(0, 3));
    expect(files()).toContain('read-model.db.next');
    await first.discard();
    expect(files()).toEqual([]);

    await store(await harness.model.begin(), events(0, 3));
    expect(await scan(await harness.model.begin())).toEqual([]);
    await harness.model.close();
    expect(files()).toEqual([]);

    for (const suffix of ['', '-wal', '-shm', '-journal']) writeFileSync(`${harness.file}.next${suffix}`, 'left over');
    await harness.reopen();
    expect(files()).toEqual([]);
  });

  test('is left alone by a process that does not get the log of the folder', async () => {
    const folder = dirname(harness.file);
    const log = await EmbeddedEventLog.open({ file: join(folder, 'log.db') });
    const next = await harness.model.begin();
    await store(next, events(0, 3));

    const opened = openEmbeddedStore(
      folder,
      KEEP_ALL,
      systemClock,
      pino({ enabled: false }),
      new AsyncDisposableStack(),
      new Turns(),
    );
    expect(await settled(opened)).toMatchObject({ error: { name: 'StoreUnusable' } });
    await promote(next);

    expect(await found(harness.model)).toEqual([0, 1, 2]);
    await log.close();
  });
});

describe('a promotion', () => {
  /** Calls back at each step at which a crash could leave files behind. */
  async function atEachStep(work: () => Promise<unknown>, step: () => void): Promise<void> {
    const { exec, prepare, close } = DatabaseSync.prototype;
    const around = <Args extends unknown[], Result>(method: (...args: Args) => Result) =>
      function (this: DatabaseSync, ...args: Args): Result {
        step();
        try {
          return method.apply(this, args);
        } finally {
          step();
        }
      };
    Object.assign(DatabaseSync.prototype, { exec: around(exec), prepare: around(prepare), close: around(close) });
    try {
      await work();
    } finally {
      Object.assign(DatabaseSync.prototype, { exec, prepare, close });
    }
  }

  test('leaves at every step files of which the one or the other generation opens, whole', async () => {
    await store(harness.model, events(0, 40));
    await harness.model.apply('audit', [], { 0: 40 });
    const next = await harness.model.begin();
    await store(next, events(20, 80));
    await next.apply('audit', [], { 0: 80 });
    await next.seal(60_000);
    const crashed: string[] = [];
    const snapshot = () => {
      crashed.push(mkdtempSync(join(dirname(harness.file), 'crash-')));
      for (const name of readdirSync(dirname(harness.file))) {
        if (name.startsWith('read-model')) cpSync(join(dirname(harness.file), name), join(crashed.at(-1) ?? '', name));
      }
    };
    await atEachStep(() => next.promote(), snapshot);

    const seen: string[] = [];
    for (const at of crashed) {
      const left = await EmbeddedReadModel.open({
        file: join(at, 'read-model.db'),
        logId: 'a-log',
        records: harness.records,
      });
      const { generation, next: reached } = await left.progress('audit');
      const shown = await found(left);
      expect([shown, reached[0]]).toEqual(generation === 1 ? [numbers(40), 40] : [numbers(60).map((n) => n + 20), 80]);
      expect((await left.count('auditevent', ORG)).get('shop')).toBe(shown.length);
      await left.close();
      seen.push(`${generation}`);
    }
    expect(seen.join('')).toMatch(/^1{6,}2{2,}$/);
  });

  test('never gives the log of the old file to the new one', async () => {
    await store(harness.model, events(0, 40));
    const next = await harness.model.begin();
    await store(next, events(20, 80));
    await next.seal(60_000);
    const log = readFileSync(`${harness.file}-wal`);
    const { close } = DatabaseSync.prototype;
    DatabaseSync.prototype.close = function (this: DatabaseSync) {
      const isLive = this.location() === harness.file;
      close.call(this);
      if (isLive) for (const suffix of ['-wal', '-shm', '-journal']) writeFileSync(harness.file + suffix, log);
    };
    try {
      await next.promote();
    } finally {
      DatabaseSync.prototype.close = close;
    }

    expect(log.length).toBeGreaterThan(10_000);
    expect(await found(harness.model)).toEqual(numbers(60).map((n) => n + 20));
    await harness.tamper('PRAGMA integrity_check');
    expect(await found(harness.model)).toEqual(numbers(60).map((n) => n + 20));
  });

  test('that fails half-way leaves the old generation live', async () => {
    await store(harness.model, events(0, 4));
    const next = await harness.model.begin();
    await store(next, events(2, 8));
    await next.seal(60_000);
    const { close } = DatabaseSync.prototype;
    DatabaseSync.prototype.close = function (this: DatabaseSync) {
      const isLive = this.location() === harness.file;
      close.call(this);
      // What stands there is no file, and cannot be removed like one.
      if (isLive) mkdirSync(`${harness.file}-journal`);
    };
    const outcome = await settled(next.promote());
    DatabaseSync.prototype.close = close;
    rmdirSync(`${harness.file}-journal`);

    expect(outcome).toHaveProperty('error');
    expect(await settled(next.promote())).toMatchObject({ error: { name: 'GenerationLost' } });
    expect(await found(harness.model)).toEqual([0, 1, 2, 3]);
    expect(codes(await harness.model.apply('audit', [event(9)], none))).toEqual(['applied']);
    await rebuild(harness.model, (again) => store(again, events(2, 8)));
    expect(await found(harness.model)).toEqual([2, 3, 4, 5, 6, 7]);
  });

  test('whose checkpoint fails changes nothing, and can be repeated', async () => {
    await store(harness.model, events(0, 4));
    const next = await harness.model.begin();
    await store(next, events(2, 8));
    await next.seal(60_000);
    const { prepare } = DatabaseSync.prototype;
    const outcomes: unknown[] = [];
    for (const failing of [`${harness.file}.next`, harness.file]) {
      DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string) {
        if (sql.includes('wal_checkpoint') && this.location() === failing) throw new Error('disk fault of the test');
        return prepare.call(this, sql);
      };
      outcomes.push(await settled(next.promote()));
      DatabaseSync.prototype.prepare = prepare;
      expect(await found(harness.model)).toEqual([0, 1, 2, 3]);
    }

    expect(outcomes).toEqual([{ error: expect.anything() }, { error: expect.anything() }]);
    await promote(next);
    expect(await found(harness.model)).toEqual([2, 3, 4, 5, 6, 7]);
  });

  test('comes between the slices of a sweep, a count and a search for strays', async () => {
    await store(harness.model, events(0, 3000));
    harness.retention.setLimit(ORG, 'shop', START + 2900);
    const next = await harness.model.begin();
    await store(next, events(2800, 3000));
    await next.seal(60_000);
    const swept = harness.model.sweep(new AbortController().signal);
    const counted = harness.model.count('auditevent', ORG);
    const strayed = strays(harness.model, 'auditevent', { audit: { 0: 2990 } });
    await next.promote();

    expect(await swept).toBeLessThan(2900);
    expect(await counted).toEqual(new Map([['shop', 100]]));
    expect(ids(await strayed)).toEqual(ids(events(2990, 3000)));
  });
});

test('no read or write goes to a model that is closed, nor to its next generation', async () => {
  const next = await harness.model.begin();
  await harness.model.close();

  expect(await settled(harness.model.get('auditevent', ORG, idAt(0)))).toHaveProperty('error');
  expect(await settled(search(harness.model))).toHaveProperty('error');
  expect(await settled(harness.model.apply('control', [put('robot', 1)], none))).toHaveProperty('error');
  expect(await settled(next.refresh())).toMatchObject({ error: { name: 'GenerationLost' } });
  expect(existsSync(`${harness.file}.next`)).toBe(false);
});
