import { randomBytes } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StoreUnusable } from '../../src/platform/store-unusable.js';
import { until } from '../contract/harness.js';
import { startService } from '../support/service.js';
import { Client } from './client.js';
import {
  answersOf,
  answersOn,
  auditRecords,
  copyOf,
  type DataFolder,
  eventOf,
  execute,
  filledFolder,
  flipBit,
  LOG_FILES,
  ORG,
  overwrite,
  refusalOn,
  removeReadModel,
  startedOn,
} from './data-folder.js';
import { type Exit, removeCompiled } from './process.js';

let whole: DataFolder;
let folder: DataFolder;

beforeAll(async () => {
  whole = await filledFolder();
});
afterAll(() => {
  rmSync(whole.dataDir, { recursive: true, force: true });
  removeCompiled();
});
beforeEach(() => {
  folder = copyOf(whole);
});
afterEach(() => rmSync(folder.dataDir, { recursive: true, force: true }));

/** The operator is told in one sentence which file it is, and the process has served nothing. */
function expectRefusal(exit: Exit, ...words: readonly string[]): void {
  for (const word of words) expect(exit.stderr).toContain(word);
  expect(exit.stdout).not.toContain('"msg":"listening"');
  expect(exit.code).toBe(1);
}

function expectNoStackTrace({ stderr }: Exit): void {
  expect(stderr).not.toMatch(/\n\s+at /);
  expect(stderr.trim().split('\n')).toHaveLength(1);
}

describe('a data folder that another process uses', () => {
  test('is refused with the file and the remedy, and the first process goes on', async () => {
    const first = await startService({ dataDir: folder.dataDir });
    const client = new Client(first.url, folder.key);

    const exit = await startedOn(folder);

    expectRefusal(exit, folder.log, 'another process uses it', 'CONTROL_DATA_DIR');
    expectNoStackTrace(exit);
    await client.publish(`/audit/org/${ORG}/auditctx/app`, eventOf('afterwards'));
    await first.stop();
  });

  test('can be used as soon as that process is gone', async () => {
    const first = await startService({ dataDir: folder.dataDir });
    await startedOn(folder);
    await first.stop();

    expect(await answersOn(folder)).toBe(whole.answers);
  });
});

describe('a log file that is not one', () => {
  const cases: Record<string, { damage: (file: string) => void; words: string[] }> = {
    'whose header is garbage': { damage: (file) => overwrite(file, 0, 100), words: ['restore it from a backup'] },
    'of random bytes': {
      damage: (file) => writeFileSync(file, randomBytes(50_000)),
      words: ['restore it from a backup'],
    },
    'of another program': {
      damage: (file) => {
        rmSync(file);
        execute(file, 'CREATE TABLE notes (text); INSERT INTO notes VALUES (1)');
      },
      words: ['another program'],
    },
    'of another program that gives an application id': {
      damage: (file) => {
        rmSync(file);
        execute(file, 'PRAGMA application_id = 7; CREATE TABLE notes (text)');
      },
      words: ['another program'],
    },
    'of a newer format': {
      damage: (file) => execute(file, "UPDATE meta SET value = '999' WHERE name = 'format'"),
      words: ['format 999', 'newer version'],
    },
    'of other partitions': {
      damage: (file) => execute(file, `UPDATE meta SET value = '[["audit",7]]' WHERE name = 'layout'`),
      words: ['partitions'],
    },
  };

  test.each(Object.entries(cases))('%s is refused and left as it was', async (_name, { damage, words }) => {
    damage(folder.log);
    const before = readFileSync(folder.log);

    const refusal = await refusalOn(folder);

    expect(refusal).toBeInstanceOf(StoreUnusable);
    for (const word of [folder.log, ...words]) expect((refusal as Error).message).toContain(word);
    expect(readFileSync(folder.log).equals(before)).toBe(true);
  });

  test('in the place of the read model, of another program, is not overwritten', async () => {
    rmSync(folder.readModel);
    execute(folder.readModel, 'CREATE TABLE notes (text); INSERT INTO notes VALUES (1)');
    const before = readFileSync(folder.readModel);

    const refusal = await refusalOn(folder);

    expect(refusal).toMatchObject({ name: 'StoreUnusable', message: expect.stringContaining(folder.readModel) });
    expect(readFileSync(folder.readModel).equals(before)).toBe(true);
  });
});

describe('a log whose records were altered', () => {
  test('ends a start that has to read an altered event, and names the record', async () => {
    flipBit(folder.records, 'event-123-end');
    removeReadModel(folder);

    // The records before it: the one of the first publish, and those of the bulk.
    expectRefusal(await startedOn(folder), folder.records, 'audit/0', 'record 124 was altered');
  });

  test('ends a start whole: nothing of it goes on in the process', async () => {
    flipBit(folder.records, '"org-created"');
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = timers();

    await expect(startService({ dataDir: folder.dataDir })).rejects.toThrow('was altered');

    await until(() => timers() <= before, 'the last timer has run out');
  });

  test('ends a start on an altered change of an organization, whether or not it is indexed', async () => {
    flipBit(folder.records, '"org-created"');

    expectRefusal(await startedOn(folder), folder.records, 'control/0', 'record 0 was altered');
  });

  test('is noticed when a record was moved', async () => {
    const { bytes, found } = auditRecords(folder);
    const [one, other] = [found[5], found[6]];
    if (one?.length !== other?.length || !one || !other) throw new Error('these records have the same size');
    const kept = Buffer.from(one);
    other.copy(one);
    kept.copy(other);
    writeFileSync(folder.records, bytes);
    removeReadModel(folder);

    expectRefusal(await startedOn(folder), folder.records, 'audit/0', 'record 5 was altered');
  });

  test('is noticed when a record is gone', async () => {
    const { bytes, found } = auditRecords(folder);
    const gone = found[200] ?? Buffer.alloc(0);
    const at = gone.byteOffset - bytes.byteOffset;
    // Even if the file keeps its size, and the places are made anew.
    const rest = [bytes.subarray(0, at), bytes.subarray(at + gone.length), Buffer.alloc(gone.length)];
    writeFileSync(folder.records, Buffer.concat(rest));
    rmSync(join(folder.dataDir, 'log.audit_0.places'));
    removeReadModel(folder);

    expectRefusal(await startedOn(folder), folder.records, 'audit/0', 'record 200 is missing');
  });

  test.each([0.3, 0.6, 0.9])('is refused when the file was cut off after %d of it', async (part) => {
    truncateSync(folder.records, Math.floor(statSync(folder.records).size * part));

    const refusal = await refusalOn(folder);

    expect(refusal).toMatchObject({ name: 'StoreUnusable', message: expect.stringContaining(folder.records) });
    expect((refusal as Error).message).toContain('restore it from a backup');
  });
});

describe('a read model that is damaged is made anew from the log', () => {
  const cases: Record<string, (damaged: DataFolder) => void> = {
    'garbage in its header': ({ readModel }) => overwrite(readModel, 0, 100),
    'no bytes at all': ({ readModel }) => truncateSync(readModel, 0),
    'half of its bytes': ({ readModel }) => truncateSync(readModel, Math.floor(statSync(readModel).size / 2)),
    'garbage for its second half': ({ readModel }) => overwrite(readModel, statSync(readModel).size / 2),
    'garbage for all but its header': ({ readModel }) => overwrite(readModel, 100),
    'tables of another version': ({ readModel }) =>
      execute(readModel, `UPDATE meta SET value = '0' WHERE name = 'version'`),
    'the contents of another log': ({ readModel }) =>
      execute(readModel, `UPDATE meta SET value = 'x' WHERE name = 'logId'`),
    'a missing table': ({ readModel }) => execute(readModel, 'DROP TABLE auditevent'),
  };

  test.each(Object.entries(cases))('%s', async (_name, damage) => {
    damage(folder);

    expect(await answersOn(folder)).toBe(whole.answers);
  });
});

test('a log that is older than the read model is refused, and served once the operator has moved that away', async () => {
  const service = await startService({ dataDir: folder.dataDir });
  const client = new Client(service.url, folder.key);
  await client.publish(`/audit/org/${ORG}/auditctx/app`, eventOf('after the backup'));
  expect(await answersOf(client)).not.toBe(whole.answers);
  await service.stop();

  for (const name of LOG_FILES) copyFileSync(join(whole.dataDir, name), join(folder.dataDir, name));

  const exit = await startedOn(folder);
  expectRefusal(exit, 'the log lost acknowledged records', 'audit/0', 'read-model.db', 'restore a backup');
  expectNoStackTrace(exit);
  removeReadModel(folder);
  expect(await answersOn(folder)).toBe(whole.answers);
});

test('a log that is older than a read model of another version is refused, too', async () => {
  const service = await startService({ dataDir: folder.dataDir });
  await new Client(service.url, folder.key).publish(`/audit/org/${ORG}/auditctx/app`, eventOf('after the backup'));
  await service.stop();
  execute(folder.readModel, `UPDATE meta SET value = '0' WHERE name = 'version'`);

  for (const name of LOG_FILES) copyFileSync(join(whole.dataDir, name), join(folder.dataDir, name));

  const exit = await startedOn(folder);
  expectRefusal(exit, 'the log lost acknowledged records', 'audit/0', 'read-model.db', 'restore a backup');
  expectNoStackTrace(exit);
});

test('an empty log beside a read model that has records is refused, until the operator has moved that away', async () => {
  for (const name of LOG_FILES) rmSync(join(folder.dataDir, name));

  for (let starts = 0; starts < 2; starts += 1) {
    const exit = await startedOn(folder);
    expectRefusal(exit, 'the log is empty', folder.readModel, 'restore a backup', 'move that file away');
    expectNoStackTrace(exit);
  }
  removeReadModel(folder);
  const service = await startService({ dataDir: folder.dataDir });
  await new Client(service.url, service.rootKey).org(ORG);
  await service.stop();
});

test('a stopped service leaves its stores as files that can be copied', () => {
  const others = ['checkpoint.key', 'read-model.db', 'root.key', 'service.secret', 'tlog.db'];
  expect(readdirSync(whole.dataDir).sort()).toEqual([...LOG_FILES, ...others].sort());
  expect(join(whole.dataDir, 'log.db')).toBe(whole.log);
});
