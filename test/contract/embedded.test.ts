import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import { CorruptRecord, PositionOutOfRange } from '../../src/event-log/event-log.js';
import { failDisk, repairDisk } from '../support/disk-faults.js';
import { PATIENCE } from '../support/patience.js';
import { openEmbeddedLog, openEmbeddedReadModel, temporaryFolder } from './embedded.harness.js';
import { eventLogContract } from './event-log.contract.js';
import { failureCases } from './event-log.failure.js';
import { entries, entry, logCases, readAll } from './event-log.harness.js';
import { settled, sleep } from './harness.js';
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
    const harness = await openEmbeddedLog('lost');
    const kept = entries(20, 'before', { value: Buffer.alloc(50_000, 'x') });
    for (const one of kept) await harness.log.append([one]);
    harness.failAppends?.('unavailable');
    for (let n = 0; n < 3; n += 1) {
      const big = entry('big', { value: Buffer.alloc(50_000) });
      await expect(harness.log.append([big])).rejects.toMatchObject({ name: 'ControlError', code: 'log_unavailable' });
    }

    const keys = async () => (await readAll(harness.log)).map(({ key }) => key).sort();
    expect(await keys()).toEqual(kept.map(({ key }) => key).sort());
    harness.repair?.();
    await harness.log.append([entry('after')]);
    expect(await keys()).toEqual(['after', ...kept.map(({ key }) => key)].sort());
    await harness.reopen();
    expect(await keys()).toEqual(['after', ...kept.map(({ key }) => key)].sort());
    await harness.destroy();
  });

  test('notes its end soon after a commit, so that a loss of the last records shows after a crash', async () => {
    const log = await EmbeddedEventLog.open({ file: join(folder, 'log.db') });
    await log.append(entries(10, 'x'));
    const left = mkdtempSync(join(folder, 'left-'));
    const afterCrash = async () => {
      for (const name of ['log.db', 'log.db-wal']) copyFileSync(join(folder, name), join(left, name));
      writeFileSync(join(left, 'log.records'), readFileSync(join(folder, 'log.records')).subarray(0, -10));
      return settled(EmbeddedEventLog.open({ file: join(left, 'log.db') }).then((found) => found.close()));
    };
    let found = await afterCrash();
    for (const deadline = Date.now() + 10_000 * PATIENCE; 'value' in found && Date.now() < deadline; ) {
      await sleep(100);
      rmSync(left, { recursive: true });
      mkdirSync(left);
      found = await afterCrash();
    }

    expect(found).toMatchObject({ error: { message: expect.stringContaining('log.records: was cut off') } });
    await log.close();
  });

  test('removes at its start what a backup and a restore left that were killed', async () => {
    writeFileSync(join(folder, 'log.db.backup'), 'a part');
    const file = join(folder, 'log.db');
    await (await EmbeddedEventLog.open({ file })).close();
    mkdirSync(join(folder, 'log.restoring-x'));
    await (await EmbeddedEventLog.open({ file })).close();

    expect(readdirSync(folder).filter((name) => /backup|restoring/.test(name))).toEqual([]);
  });

  test('says that the disk is full when a start cannot make its places anew', async () => {
    const file = join(folder, 'log.db');
    const log = await EmbeddedEventLog.open({ file });
    await log.append(entries(10, 'x'));
    await log.close();
    const places = join(folder, 'log.audit_0.places');
    truncateSync(places);
    failDisk(places, 0);
    const refused = await settled(EmbeddedEventLog.open({ file }));
    repairDisk(places);

    expect(refused).toMatchObject({
      error: { name: 'StoreUnusable', message: expect.stringMatching(/log\.db: the disk is full: free some space/) },
    });
    await (await EmbeddedEventLog.open({ file })).close();
  });

  test('gives times that never go backward though the clock does, after a reopen too', async () => {
    let now = 2_000_000_000_000;
    const options = { file: join(folder, 'log.db'), clock: { now: () => now } };
    const log = await EmbeddedEventLog.open(options);
    await log.append([entry('first')]);
    now -= 3_600_000;
    await log.append([entry('second')]);
    // A partition that was empty does not go back either.
    await log.append([{ ...entry('of control'), topic: 'control' }]);
    await log.close();
    const reopened = await EmbeddedEventLog.open(options);
    await reopened.append([entry('third'), { ...entry('of the dead letters'), topic: 'audit.dead' }]);
    for (const topic of ['control', 'audit.dead'] as const) {
      expect((await readAll(reopened, topic)).map(({ time }) => time)).toEqual([2_000_000_000_000]);
    }

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

    test('of a record that was altered are refused', async () => {
      const log = await open();
      await log.append(entries(3, 'x', { topic: 'control' }));
      await log.close();
      const records = join(folder, 'log.records');
      const bytes = readFileSync(records);
      bytes[bytes.indexOf('x1')] = 'y'.charCodeAt(0);
      writeFileSync(records, bytes);

      const reopened = await open();
      expect(() => reopened.value('control', 0, 1)).toThrow(
        new CorruptRecord(`${records}: control/0: record 1 was altered`),
      );
      expect(text(reopened.value('control', 0, 2))).toBe('x2');
      await reopened.close();
    });
  });
});
