import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import { restoreLog } from '../../src/event-log/embedded/restore.js';
import { copyOfLog, FIXTURES, recordsOf } from '../faults/log-answers.js';
import { failDisk, repairDisk } from '../support/disk-faults.js';
import { temporaryFolder } from './embedded.harness.js';
import { entries, entry, readAll, textOf } from './event-log.harness.js';

let folder = '';
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => rm(folder, { recursive: true }));

const open = (dataDir: string) => EmbeddedEventLog.open({ file: join(dataDir, 'log.db') });

/** A stopped log with so many records. */
async function logOf(count: number, name = 'data'): Promise<string> {
  const dataDir = join(folder, name);
  mkdirSync(dataDir);
  const log = await open(dataDir);
  await log.append(entries(count, name));
  await log.close();
  return dataDir;
}

async function backupOf(dataDir: string): Promise<string> {
  const log = await open(dataDir);
  const to = join(folder, 'backup');
  await log.snapshot(to);
  await log.close();
  return to;
}

async function keysIn(dataDir: string): Promise<string[]> {
  const log = await open(dataDir);
  const keys = (await readAll(log)).map(({ key }) => key);
  await log.close();
  return keys;
}

/** Appends to the table of the first format, as the versions that wrote it did. */
function appendOld(file: string, count: number): void {
  const db = new DatabaseSync(file);
  const last = db.prepare('SELECT offset, time FROM audit_0 ORDER BY offset DESC LIMIT 1').get();
  const insert = db.prepare('INSERT INTO audit_0 (offset, time, key, headers, value, crc) VALUES (?, ?, ?, ?, ?, ?)');
  db.exec('BEGIN');
  for (let n = 1; n <= count; n += 1) {
    const [offset, time, headers, value] = [
      Number(last?.offset) + n,
      Number(last?.time),
      '{"v":"1"}',
      Buffer.from('{}'),
    ];
    insert.run(
      offset,
      time,
      'k',
      headers,
      value,
      crc32(value, crc32(JSON.stringify(['audit_0', offset, time, 'k', headers]))),
    );
  }
  db.exec('COMMIT');
  db.close();
}

test('a backup of records of the first format is whole while others are read', async () => {
  const dataDir = copyOfLog('log-v1');
  appendOld(join(dataDir, 'log.db'), 1_200);
  const log = await open(dataDir);
  let copying = true;
  const copied = log.snapshot(join(folder, 'backup')).finally(() => {
    copying = false;
  });
  const reading = (async () => {
    while (copying) {
      log.value('audit', 0, 0);
      await setImmediate();
    }
  })();
  const [{ heads }] = await Promise.all([copied, reading]);
  await log.close();
  const restored = await restoreLog({ from: join(folder, 'backup'), dataDir: join(folder, 'restored'), force: false });

  expect(heads['audit/0']).toBeGreaterThan(1_200);
  expect(restored.heads).toEqual(heads);
  expect(await recordsOf(restored.file)).toEqual(await recordsOf(join(dataDir, 'log.db')));
  rmSync(dataDir, { recursive: true });
});

test('a restore beside the places of a lost, longer log starts with what was in the backup', async () => {
  const dataDir = await logOf(20);
  const from = await backupOf(dataDir);
  const log = await open(dataDir);
  await log.append(entries(20, 'later'));
  await log.close();
  for (const name of ['log.db', 'log.records']) rmSync(join(dataDir, name));
  await restoreLog({ from, dataDir, force: false });

  expect(await keysIn(dataDir)).toEqual(entries(20, 'data').map(({ key }) => key));
});

test('the places of another, longer log are no witnesses', async () => {
  const dataDir = await logOf(0);
  const other = await logOf(30, 'other');
  copyFileSync(join(other, 'log.audit_0.places'), join(dataDir, 'log.audit_0.places'));

  expect(await keysIn(dataDir)).toEqual([]);
});

describe('a restore that was killed between its renames', () => {
  let dataDir = '';
  let from = '';
  const aside = () => join(dataDir, 'log.before-restore-x');
  const unfinished = () => join(dataDir, 'log.restoring-x');
  beforeEach(async () => {
    dataDir = await logOf(20);
    from = await backupOf(dataDir);
    for (const made of [aside(), unfinished()]) mkdirSync(made);
  });
  const moveAside = (...names: string[]) => {
    for (const name of names) renameSync(join(dataDir, name), join(aside(), name));
  };

  test.each([
    ['before the first file of the backup', ['log.db', 'log.records']],
    ['with the records alone', ['log.db']],
  ])('%s, is no reason to make a new log', async (_when, moved) => {
    moveAside(...moved);
    const before = readdirSync(dataDir);

    for (const left of [unfinished(), aside()]) {
      await expect(open(dataDir)).rejects.toMatchObject({
        name: 'StoreUnusable',
        message: expect.stringMatching(/log\.db: is missing, .* restore the backup again, or move .* away/),
      });
      expect(readdirSync(dataDir)).toEqual(before.filter((name) => existsSync(join(dataDir, name))));
      rmSync(left, { recursive: true });
    }
  });

  test('can be done again, and leaves only what was moved aside', async () => {
    moveAside('log.db');
    await restoreLog({ from, dataDir, force: true });

    expect(existsSync(unfinished())).toBe(false);
    expect(existsSync(join(aside(), 'log.db'))).toBe(true);
    expect(await keysIn(dataDir)).toEqual(entries(20, 'data').map(({ key }) => key));
  });

  test('is cleared away by the start of a whole log', async () => {
    expect(await keysIn(dataDir)).toEqual(entries(20, 'data').map(({ key }) => key));
    expect([existsSync(unfinished()), existsSync(aside())]).toEqual([false, true]);
  });
});

describe('a commit that was refused', () => {
  const file = (name: string) => join(folder, name);
  const control = (key: string) => entry(key, { topic: 'control' });
  const keys = async (log: EmbeddedEventLog) =>
    (await Promise.all([readAll(log), readAll(log, 'control')])).flat().map(({ key }) => key);
  const reopened = async (log: EmbeddedEventLog) => {
    await log.close();
    return open(folder);
  };

  test('because a record has no partition does not go out with the next', async () => {
    let log = await open(folder);
    await expect(log.append([entry('refused'), entry('bad', { topic: 'none' as 'audit' })])).rejects.toThrow();
    await log.append([entry('after')]);
    expect(await keys(log)).toEqual(['after']);

    log = await reopened(log);
    expect(await keys(log)).toEqual(['after']);
    await log.close();
  });

  test('because the disk had no space for a place leaves nothing', async () => {
    let log = await open(folder);
    await log.append([entry('before')]);
    failDisk(file('log.control_0.places'), 5);
    const refused = log.append([entry('refused'), control('refused')]);
    await expect(refused).rejects.toMatchObject({ code: 'log_unavailable', message: expect.stringContaining('space') });

    log = await reopened(log);
    expect(await keys(log)).toEqual(['before']);
    repairDisk(file('log.control_0.places'));
    await log.append([control('after')]);
    log = await reopened(log);
    expect(await keys(log)).toEqual(['before', 'after']);
    await log.close();
  });

  test('and whose places could not be removed is not a loss to the next start', async () => {
    let log = await open(folder);
    await log.append([entry('before')]);
    failDisk(file('log.audit_0.places'), 'done');
    failDisk(file('log.control_0.places'), 5);
    await expect(log.append([entry('unknown'), control('unknown')])).rejects.toMatchObject({ code: 'outcome_unknown' });
    await expect(log.append([control('while')])).rejects.toMatchObject({ code: 'log_unavailable' });
    for (const name of ['log.audit_0.places', 'log.control_0.places']) repairDisk(file(name));
    await log.append([control('after')]);

    log = await reopened(log);
    expect(await keys(log)).toEqual(['before', 'after']);
    await log.close();
  });
});

test('an append that was cut off anywhere, as by a crash, is not there at all', async () => {
  const dataDir = await logOf(3);
  const crashed = join(folder, 'crashed');
  cpSync(dataDir, crashed, { recursive: true });
  const before = readFileSync(join(dataDir, 'log.records')).byteLength;
  const log = await open(dataDir);
  await log.append(entries(2_500, 'whole'));
  await log.close();
  const bytes = readFileSync(join(dataDir, 'log.records'));
  const cuts = [before + 1, ...[0.1, 0.5, 0.9].map((part) => before + Math.floor(part * (bytes.byteLength - before)))];
  for (const cut of [...cuts, bytes.byteLength - 1]) {
    const at = join(folder, `cut-${cut}`);
    cpSync(crashed, at, { recursive: true });
    writeFileSync(join(at, 'log.records'), bytes.subarray(0, cut));
    expect(await keysIn(at)).toEqual(await keysIn(crashed));
  }
  expect(await keysIn(dataDir)).toHaveLength(2_503);
});

test.each(FIXTURES)('%s gains the topic of checkpoints, which a backup keeps', async (name) => {
  const dataDir = copyOfLog(name);
  const before = await recordsOf(join(dataDir, 'log.db'));
  const log = await open(dataDir);
  await log.append([entry('genesis', { topic: 'checkpoints' })]);
  await log.close();
  const from = await backupOf(dataDir);
  await restoreLog({ from, dataDir: join(folder, 'restored'), force: false });

  for (const at of [dataDir, join(folder, 'restored')]) {
    const reopened = await open(at);
    expect(await reopened.head('checkpoints')).toEqual({ 0: 1 });
    expect((await readAll(reopened, 'checkpoints')).map(textOf)).toEqual(['genesis']);
    await reopened.close();
    expect(await recordsOf(join(at, 'log.db'))).toEqual(before);
  }
  rmSync(dataDir, { recursive: true });
});
