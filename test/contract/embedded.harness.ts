import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import { PositionOutOfRange, type RecordValues, type Topic } from '../../src/event-log/event-log.js';
import type { Position } from '../../src/read-model/document.js';
import { EmbeddedReadModel } from '../../src/read-model/embedded/read-model.js';
import { failDisk, repairDisk } from '../support/disk-faults.js';
import { addFunctions } from '../support/stored-sql.js';
import type { EventLogHarness } from './event-log.harness.js';
import { type ReadModelHarness, SetRetention } from './read-model.harness.js';

const LOG_ID = 'a-log';

/** How a commit of unknown outcome ended in the file: nobody but the file can tell. */
export type Ending = 'done' | 'lost';

export async function openEmbeddedLog(ending: Ending): Promise<EventLogHarness> {
  const folder = await temporaryFolder();
  const file = join(folder, 'log.db');
  const records = join(folder, 'log.records');
  const options = { file, partitions: { audit: 3 }, maxPending: { entries: 1000, bytes: 64 * 1024 * 1024 } };
  let log = await EmbeddedEventLog.open(options);
  const reopen = async () => {
    await log.close();
    log = await EmbeddedEventLog.open(options);
    return log;
  };
  return {
    get log() {
      return log;
    },
    partitions: 3,
    crowd: 1500,
    reopen,
    failAppends: (how) => {
      failDisk(records, how === 'unavailable' ? statSync(records).size + 20 : ending);
    },
    repair: () => {
      repairDisk(records);
    },
    async corrupt(topic, { partition, offset }) {
      await log.close();
      const places = readFileSync(join(folder, `log.${topic.replace('.', '_')}_${partition}.places`));
      const last = places.readUIntLE(offset * 12, 6) + places.readUInt32LE(offset * 12 + 6) - 1;
      const bytes = readFileSync(records);
      bytes[last] = (bytes[last] ?? 0) ^ 1;
      writeFileSync(records, bytes);
      return reopen();
    },
    async destroy() {
      repairDisk(records);
      await log.close();
      await rm(folder, { recursive: true });
    },
  };
}

export interface EmbeddedModelHarness extends ReadModelHarness {
  readonly file: string;
  readonly records: FakeRecords;
  /** From now on batches are written, and commits fail. */
  failCommits(errcode: number): void;
  /** Runs SQL on the file while the model is closed, and opens it again. */
  tamper(sql: string): Promise<void>;
}

/** In place of the log. */
export class FakeRecords implements RecordValues {
  private readonly values = new Map<string, Uint8Array>();

  set({ topic, partition, offset }: Position, value: Uint8Array): void {
    this.values.set(`${topic}/${partition}/${offset}`, value);
  }

  value(topic: Topic, partition: number, offset: number): Uint8Array {
    const value = this.values.get(`${topic}/${partition}/${offset}`);
    if (value) return value;
    throw new PositionOutOfRange(`the log of the test has no ${topic}/${partition}/${offset}`);
  }
}

export async function openEmbeddedReadModel(): Promise<EmbeddedModelHarness> {
  const folder = await temporaryFolder();
  const retention = new SetRetention();
  const records = new FakeRecords();
  const options = { file: join(folder, 'read-model.db'), logId: LOG_ID, retention, records };
  let model = await EmbeddedReadModel.open(options);
  const reopen = async () => {
    await model.close();
    model = await EmbeddedReadModel.open(options);
    return model;
  };
  return {
    get model() {
      return model;
    },
    retention,
    records,
    file: options.file,
    reopen,
    async tamper(sql) {
      await model.close();
      const db = new DatabaseSync(options.file);
      addFunctions(db);
      db.exec(sql);
      db.close();
      await reopen();
    },
    failWrites: () => {
      faultOf.set(options.file, { statement: 'RELEASE batch', ending: 'lost', errcode: SQLITE_FULL });
    },
    failCommits: (errcode) => {
      faultOf.set(options.file, { statement: 'COMMIT', ending: 'lost', errcode });
    },
    repair: () => {
      faultOf.delete(options.file);
    },
    async destroy() {
      faultOf.delete(options.file);
      await model.close();
      await rm(folder, { recursive: true });
    },
  };
}

const folders: string[] = [];

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'control-contract-'));
  folders.push(folder);
  return folder;
}

/** What `destroy` did not reach, because a store could not even be opened. */
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

export const SQLITE_IOERR = 10;
export const SQLITE_FULL = 13;

interface Fault {
  readonly statement: string;
  /** `lost`: it fails without having run; `done`: after it ran. */
  readonly ending: Ending;
  readonly errcode: number;
}

const faultOf = new Map<string, Fault>();

/** Stands between every connection and SQLite, and fails the statement of the file's fault, as its disk would. */
const exec = DatabaseSync.prototype.exec;
DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string): void {
  const fault = faultOf.get(this.location() ?? '');
  const fails = fault?.statement === sql;
  if (!fails || fault.ending === 'done') exec.call(this, sql);
  if (fails)
    throw Object.assign(new Error('disk fault of the test'), { code: 'ERR_SQLITE_ERROR', errcode: fault.errcode });
};
