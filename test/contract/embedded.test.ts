import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import { CorruptRecord, PositionOutOfRange } from '../../src/event-log/event-log.js';
import { openEmbeddedLog, openEmbeddedReadModel, temporaryFolder } from './embedded.harness.js';
import { eventLogContract } from './event-log.contract.js';
import { failureCases } from './event-log.failure.js';
import { entries, entry, logCases, readAll, texts } from './event-log.harness.js';
import { readModelContract } from './read-model.contract.js';

eventLogContract('embedded', () => openEmbeddedLog('done'));

describe('event log contract: embedded, where a commit of unknown outcome was lost', () => {
  failureCases(logCases(() => openEmbeddedLog('lost'), []));
});

readModelContract('embedded', openEmbeddedReadModel);

describe('embedded event log', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(() => rm(folder, { recursive: true }));

  test('keeps what it acknowledged and says log_unavailable when its file cannot grow', async () => {
    const log = await EmbeddedEventLog.open({ file: join(folder, 'log.db') });
    // SQLite itself runs out of pages here, as it does on a full disk: no fake error.
    Reflect.get(log, 'db').exec('PRAGMA max_page_count = 200');
    const kept: string[] = [];
    let failure: unknown;
    for (let n = 0; n < 50 && !failure; n += 1) {
      const one = entry(`${n}`, { value: Buffer.alloc(50_000, `${n},`) });
      await log.append([one]).then(
        () => kept.push(one.key),
        (error: unknown) => {
          failure = error;
        },
      );
    }

    expect(failure).toMatchObject({ name: 'ControlError', code: 'log_unavailable' });
    expect(kept.length).toBeGreaterThan(1);
    expect((await readAll(log)).map(({ key }) => key)).toEqual(kept);
    Reflect.get(log, 'db').exec('PRAGMA max_page_count = 100000');
    await log.append([entry('after')]);
    expect(texts(await readAll(log)).at(-1)).toBe('after');
    await log.close();
  });

  test('gives times that never go backward though the clock does, after a reopen too', async () => {
    let now = 2_000_000_000_000;
    const options = { file: join(folder, 'log.db'), clock: { now: () => now } };
    const log = await EmbeddedEventLog.open(options);
    await log.append([entry('first')]);
    now -= 3_600_000;
    await log.append([entry('second')]);
    await log.close();
    const reopened = await EmbeddedEventLog.open(options);
    await reopened.append([entry('third')]);

    const times = (await readAll(reopened)).map(({ time }) => time);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times[0]).toBe(2_000_000_000_000);
    await reopened.close();
  });

  describe('values of single records', () => {
    const open = () => EmbeddedEventLog.open({ file: join(folder, 'log.db'), partitions: { audit: 2 } });
    const text = (value: Uint8Array) => Buffer.from(value).toString();

    test('are those that were appended, from memory and from the file', async () => {
      const log = await open();
      const appended = entries(200, 'x');
      const positions = await log.append(appended);
      const values = (of: EmbeddedEventLog) =>
        positions.map(({ partition, offset }) => text(of.value('audit', partition, offset)));
      const expected = appended.map(({ value }) => text(value));
      expect(values(log)).toEqual(expected);
      await log.close();

      const reopened = await open();
      expect(values(reopened)).toEqual(expected);
      await reopened.close();
    });

    test('outside the log are out of range', async () => {
      const log = await open();
      await log.append([entry('only', { topic: 'control' })]);

      for (const [partition, offset] of [
        [0, 1],
        [0, -1],
        [1, 0],
      ] as const) {
        expect(() => log.value('control', partition, offset)).toThrow(PositionOutOfRange);
      }
      await log.close();
      expect(() => log.value('control', 0, 0)).toThrow(expect.objectContaining({ code: 'log_unavailable' }));
    });

    test.each([
      ['was altered', `UPDATE control_0 SET headers = '{"v":"2"}' WHERE offset = 1`],
      ['is missing', 'DELETE FROM control_0 WHERE offset = 1'],
    ])('of a record that %s are refused', async (what, sql) => {
      const log = await open();
      await log.append(entries(3, 'x').map((one) => ({ ...one, topic: 'control' as const })));
      await log.close();
      const db = new DatabaseSync(join(folder, 'log.db'));
      db.exec(sql);
      db.close();

      const reopened = await open();
      expect(() => reopened.value('control', 0, 1)).toThrow(
        new CorruptRecord(`${join(folder, 'log.db')}: control/0: record 1 ${what}`),
      );
      expect(text(reopened.value('control', 0, 2))).toMatch(/^x/);
      await reopened.close();
    });
  });
});
