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
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { EmbeddedReadModel } from '../../src/read-model/embedded.js';
import type { NextGeneration } from '../../src/read-model/read-model.js';
import { openEmbeddedReadModel, temporaryFolder } from './embedded.harness.js';
import { settled } from './harness.js';
import {
  codes,
  event,
  failWrites,
  found,
  idAt,
  ids,
  none,
  ORG,
  place,
  promote,
  put,
  rebuild,
  repair,
  SetRetention,
  START,
  scan,
  search,
  store,
  sweep,
} from './read-model.harness.js';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const events = (from: number, to: number) => numbers(to - from).map((n) => event(from + n));

let folder = '';
let file = '';
let retention: SetRetention;
let model: EmbeddedReadModel;
const open = () => EmbeddedReadModel.open({ file, logId: 'a-log', retention });

beforeEach(async () => {
  folder = await temporaryFolder();
  file = join(folder, 'read-model.db');
  retention = new SetRetention();
  model = await open();
});
afterEach(() => model.close());

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Changes the closed file. */
async function tamper(sql: string): Promise<void> {
  await model.close();
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
  model = await open();
}

describe('the file of the next generation', () => {
  test('is there while it is filled, and goes with a discard, a close, the next begin and the next open', async () => {
    const files = () => readdirSync(folder).filter((name) => name.includes('.next'));
    const first = await model.begin();
    await store(first, events(0, 3));
    expect(files()).toContain('read-model.db.next');
    await first.discard();
    expect(files()).toEqual([]);

    await store(await model.begin(), events(0, 3));
    expect(await scan(await model.begin())).toEqual([]);
    await model.close();
    expect(files()).toEqual([]);

    for (const suffix of ['', '-wal', '-shm', '-journal']) writeFileSync(`${file}.next${suffix}`, 'left over');
    model = await open();
    expect(files()).toEqual([]);
  });

  test('is left alone by a process that does not get the file itself', async () => {
    const next = await model.begin();
    await store(next, events(0, 3));

    expect(await settled(open())).toMatchObject({ error: { name: 'StoreUnusable' } });
    await promote(next);

    expect(await found(model)).toEqual([0, 1, 2]);
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
    await store(model, events(0, 40));
    await model.apply('audit', [], { 0: 40 });
    const next = await model.begin();
    await store(next, events(20, 80));
    await next.apply('audit', [], { 0: 80 });
    await next.seal(60_000);
    const crashed: string[] = [];
    const snapshot = () => {
      crashed.push(mkdtempSync(join(folder, 'crash-')));
      for (const name of readdirSync(folder)) {
        if (name.startsWith('read-model')) cpSync(join(folder, name), join(crashed.at(-1) ?? '', name));
      }
    };
    await atEachStep(() => next.promote(), snapshot);

    const seen: string[] = [];
    for (const at of crashed) {
      const left = await EmbeddedReadModel.open({ file: join(at, 'read-model.db'), logId: 'a-log' });
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
    await store(model, events(0, 40));
    const next = await model.begin();
    await store(next, events(20, 80));
    await next.seal(60_000);
    const log = readFileSync(`${file}-wal`);
    const { close } = DatabaseSync.prototype;
    DatabaseSync.prototype.close = function (this: DatabaseSync) {
      const isLive = this.location() === file;
      close.call(this);
      if (isLive) for (const suffix of ['-wal', '-shm', '-journal']) writeFileSync(file + suffix, log);
    };
    try {
      await next.promote();
    } finally {
      DatabaseSync.prototype.close = close;
    }

    expect(log.length).toBeGreaterThan(10_000);
    expect(await found(model)).toEqual(numbers(60).map((n) => n + 20));
    await tamper('PRAGMA integrity_check');
    expect(await found(model)).toEqual(numbers(60).map((n) => n + 20));
  });

  test('that fails half-way leaves the old generation live', async () => {
    await store(model, events(0, 4));
    const next = await model.begin();
    await store(next, events(2, 8));
    await next.seal(60_000);
    const { close } = DatabaseSync.prototype;
    DatabaseSync.prototype.close = function (this: DatabaseSync) {
      const isLive = this.location() === file;
      close.call(this);
      // What stands there is no file, and cannot be removed like one.
      if (isLive) mkdirSync(`${file}-journal`);
    };
    const outcome = await settled(next.promote());
    DatabaseSync.prototype.close = close;
    rmdirSync(`${file}-journal`);

    expect(outcome).toHaveProperty('error');
    expect(await settled(next.promote())).toMatchObject({ error: { name: 'GenerationLost' } });
    expect(await found(model)).toEqual([0, 1, 2, 3]);
    expect(codes(await model.apply('audit', [event(9)], none))).toEqual(['applied']);
    await rebuild(model, (again) => store(again, events(2, 8)));
    expect(await found(model)).toEqual([2, 3, 4, 5, 6, 7]);
  });

  test('comes between the slices of a sweep, a count and a search for strays', async () => {
    await store(model, events(0, 3000));
    retention.setLimit(ORG, 'shop', START + 2900);
    const next = await model.begin();
    await store(next, events(2800, 3000));
    await next.seal(60_000);
    const swept = model.sweep(new AbortController().signal);
    const counted = model.count('auditevent', ORG);
    const strays = model.strays('auditevent', { audit: { 0: 2990 } }, 1000);
    await next.promote();

    expect(await swept).toBeLessThan(2900);
    expect(await counted).toEqual(new Map([['shop', 100]]));
    expect(ids(await strays)).toEqual(ids(events(2990, 3000)));
  });
});

describe('the sweep', () => {
  test('lets others have their turn, and what they do is counted right meanwhile', async () => {
    await store(model, events(0, 4000));
    retention.setLimit(ORG, 'shop', START + 3500);
    await model.count('auditevent', ORG);
    let isSwept = false;
    const sweeping = model.sweep(new AbortController().signal).then((removed) => {
      isSwept = true;
      return removed;
    });
    const seen: unknown[] = [];
    for (let n = 4000; !isSwept; n += 1) {
      await model.apply('audit', [event(n)], { 0: n + 1 });
      seen.push((await model.count('auditevent', ORG)).get('shop') === n + 1 - 3500);
      await turns(1);
    }

    expect(await sweeping).toBe(3500);
    expect(seen.length).toBeGreaterThan(3);
    expect(seen.every((isRight) => isRight === true)).toBe(true);
  });

  test('stops after the slice in which it is told to, or the model closes', async () => {
    await store(model, events(0, 4000));
    retention.setLimit(ORG, 'shop', START + 3500);
    const stop = new AbortController();
    const stopping = model.sweep(stop.signal);
    await turns(3);
    stop.abort();
    const first = await stopping;
    const closing = model.sweep(new AbortController().signal);
    await turns(3);
    await model.close();
    const second = await closing;
    model = await open();

    expect([first, second].every((removed) => removed > 0 && removed < 3500)).toBe(true);
    expect(first + second + (await sweep(model))).toBe(3500);
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 500]]));
  });

  test('does not go over the same rows again', async () => {
    await store(
      model,
      numbers(2000).map((n) => event(n, { fields: { contextName: n % 2 ? 'shop' : 'kept' } })),
    );
    retention.setLimit(ORG, 'shop', START + 1900);
    await sweep(model);
    await model.close();
    model = await open();
    const { prepare } = DatabaseSync.prototype;
    let rows = 0;
    DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string) {
      const statement = prepare.call(this, sql);
      const iterate = statement.iterate.bind(statement);
      const counted = (...values: SQLInputValue[]) =>
        iterate(...values).map((row) => {
          rows += 1;
          return row;
        });
      return Object.assign(statement, { iterate: counted });
    };
    retention.setLimit(ORG, 'shop', START + 1910);
    const removed = await sweep(model);
    DatabaseSync.prototype.prepare = prepare;

    expect([removed, rows]).toEqual([5, 11]);
  });

  test('of which a slice fails goes on from there', async () => {
    const harness = await openEmbeddedReadModel();
    await store(harness.model, events(0, 1200));
    harness.retention.setLimit(ORG, 'shop', START + 1100);
    failWrites(harness);
    const failed = await settled(harness.model.sweep(new AbortController().signal));
    repair(harness);

    expect(failed).toHaveProperty('error');
    expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 100]]));
    expect(await sweep(harness.model)).toBe(1100);
    expect(await harness.model.count('auditevent', ORG)).toEqual(new Map([['shop', 100]]));
    await harness.destroy();
  });

  test('finds what came in behind it while the limit was not known', async () => {
    await store(model, events(5, 10));
    retention.setLimit(ORG, 'shop', START + 8);
    expect(await sweep(model)).toBe(3);
    await model.close();
    const known = retention;
    retention = new SetRetention();
    model = await open();
    await store(model, events(0, 7));
    await model.close();
    retention = known;
    model = await open();

    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 2]]));
    expect(await found(model)).toEqual([8, 9]);
    expect(await sweep(model)).toBe(7);
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 2]]));
  });
});

describe('a damaged document', () => {
  const damages: readonly [string, string][] = [
    ['its text', `source = '{"n":99}'`],
    ['a field', `f_podId = 'other'`],
    ['the value that it counts as', `f_contextName = 'other'`],
    ['its hash', `hash = 'x'`],
    ['its checksum', 'crc = crc + 1'],
    ['its time, by a number that JavaScript does not have', 'time = 9223372036854775807'],
    ['whether it was deleted', 'deleted = 1'],
  ];
  for (const [what, change] of damages) {
    test(`in ${what} is misplaced to a scan, and is mended by writing it anew`, async () => {
      const write = event(2, { hash: 'h', fields: { podId: 'p' } });
      await store(model, [...events(0, 2), write, event(3)]);
      await tamper(`UPDATE auditevent SET ${change} WHERE id = '${write.id}'`);
      const stored = await scan(model);
      await model.overwrite(write);

      expect(stored.map(({ id, misplaced }) => [id, misplaced])).toEqual(numbers(4).map((n) => [idAt(n), n === 2]));
      expect(stored[2]).toMatchObject({ org: ORG, place: { topic: 'audit', partition: 0, offset: 2, ordinal: 0 } });
      expect((await scan(model)).some(({ misplaced }) => misplaced)).toBe(false);
      expect(await found(model)).toEqual([0, 1, 2, 3]);
      expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 4]]));
    });

    test(`in ${what} can be removed`, async () => {
      await store(model, events(0, 4));
      await tamper(`UPDATE auditevent SET ${change} WHERE id = '${idAt(2)}'`);
      const [, , damaged] = await scan(model);
      if (damaged) await model.remove('auditevent', damaged);

      expect(await found(model)).toEqual([0, 1, 3]);
      expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 3]]));
    });
  }

  test('is removed by writing it anew when it has expired', async () => {
    await store(model, events(0, 4));
    retention.setLimit(ORG, 'shop', START + 3);
    await tamper(`UPDATE auditevent SET f_contextName = 'other' WHERE id = '${idAt(2)}'`);
    await model.overwrite(event(2));

    expect(await found(model)).toEqual([3]);
    expect(ids(await scan(model))).toEqual([0, 1, 3].map((n) => idAt(n)));
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 1]]));
  });

  test('that says it stands where the log does not go is a stray', async () => {
    await store(model, [...events(0, 3), event(3, { place: place(-4) }), event(4, { org: 'other' })]);

    expect(ids(await model.strays('auditevent', { audit: { 0: 4 } }, 10)).sort()).toEqual([idAt(3), idAt(4)]);
  });

  test('that is not there any more leaves what took its location alone', async () => {
    await store(model, events(0, 3));
    const [, , last] = await scan(model);
    if (!last) throw new Error('nothing is stored');
    await model.remove('auditevent', last);
    await store(model, [event(7)]);
    const reused = (await scan(model)).find(({ location }) => location === last.location);
    await model.remove('auditevent', last);

    expect(reused?.id).toBe(idAt(7));
    expect(await found(model)).toEqual([0, 1, 7]);
  });
});

test('no read or write goes to a model that is closed, nor to its next generation', async () => {
  const next: NextGeneration = await model.begin();
  await model.close();

  expect(await settled(model.get('auditevent', ORG, idAt(0)))).toHaveProperty('error');
  expect(await settled(search(model))).toHaveProperty('error');
  expect(await settled(model.apply('control', [put('robot', 1)], none))).toHaveProperty('error');
  expect(await settled(next.refresh())).toMatchObject({ error: { name: 'GenerationLost' } });
  expect(existsSync(`${file}.next`)).toBe(false);
});
