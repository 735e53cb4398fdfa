import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { withReceivedTime } from '../../../src/event-log/audit-record.js';
import {
  decodeHeader,
  encodeCommit,
  type Frame,
  frameAt,
  frameTexts,
  frameTime,
  frameValue,
  seedOf,
} from '../../../src/event-log/embedded/frame.js';
import { columnsOf, RowFormat } from '../../../src/read-model/embedded/row.js';
import { Texts } from '../../../src/read-model/embedded/texts.js';
import type { Random } from '../../support/random.js';

interface Target {
  readonly dataDir: string;
  readonly org: string;
  readonly random: Random;
}

interface StoreTampering {
  readonly kind: string;
  tamper(target: Target): void;
}

interface OpenLog {
  readonly file: string;
  readonly bytes: Buffer;
  readonly seed: number;
  /** The published events of the organization. */
  readonly events: readonly Frame[];
  /** Writes the checksum of a frame anew. */
  seal(frame: Frame): void;
  save(bytes?: Buffer): void;
}

function openLog({ dataDir, org }: Target): OpenLog {
  const file = join(dataDir, 'log.records');
  const bytes = readFileSync(file);
  const decoded = decodeHeader(bytes);
  if (!decoded) throw new Error(`${file} has no header`);
  const seed = seedOf(decoded.header.id);
  const events: Frame[] = [];
  for (let at = decoded.size; at < bytes.length; ) {
    const frame = frameAt(bytes, at, seed);
    if (!frame) break;
    if (frameValue(frame).includes(`"org":"${org}"`) && frameValue(frame).includes('"resource":{"')) events.push(frame);
    at += frame.size;
  }
  const published = events.filter((frame) => frameTexts(frame).key.startsWith(`${org}/`));
  if (published.length === 0) throw new Error('the log has no published events');
  return {
    ...{ file, bytes, seed, events: published },
    seal: ({ position, size }) =>
      void bytes.writeUInt32LE(crc32(bytes.subarray(position + 4, position + size), seed), position),
    save: (whole = bytes) => writeFileSync(file, whole),
  };
}

/** Another digit of the resource's identifier, `n...`: as long, and as valid. */
function alter(value: Buffer): void {
  const at = value.indexOf('"id":"n', value.indexOf('"resource"')) + '"id":"n'.length;
  value[at] = value[at] === 0x39 ? 0x38 : 0x39;
}

export const LOG_TAMPERINGS: readonly StoreTampering[] = [
  {
    kind: 'an altered record of the log',
    tamper(target) {
      const log = openLog(target);
      const frame = target.random.pick(log.events);
      const isTime = target.random.chance(0.5);
      if (isTime) log.bytes.writeUIntLE(frameTime(frame) - target.random.whole(1, 1000), frame.position + 16, 6);
      else alter(frameValue(frame));
      log.seal(frame);
      log.save();
      // The read model has times of its own: only what is made from the log again shows an altered one.
      if (isTime || target.random.chance(0.5)) loseReadModel(target);
    },
  },
  {
    kind: 'a record appended to the log with an old time',
    tamper(target) {
      const log = openLog(target);
      const last = log.events.at(-1);
      if (!last) throw new Error('the log has no events');
      const value = Buffer.from(
        frameValue(last)
          .toString()
          .replace(/^\{"id":"[^"]+"/, `{"id":"${uuid(target.random)}"`),
      );
      const time = frameTime(last) - target.random.whole(3_600_000, 86_400_000);
      const { partition } = last;
      const offset = 1 + Math.max(...log.events.filter((one) => one.partition === partition).map((one) => one.offset));
      const record = { ...frameTexts(last), offset, time, value };
      const { bytes } = encodeCommit([{ number: partition, records: [record] }], log.seed);
      log.save(Buffer.concat([log.bytes, bytes]));
    },
  },
];

function uuid(random: Random): string {
  return random
    .bytes(16)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function loseReadModel({ dataDir }: Target): void {
  for (const name of readdirSync(dataDir).filter((one) => one.startsWith('read-model.db'))) rmSync(join(dataDir, name));
}

export const MODEL_TAMPERINGS: readonly StoreTampering[] = [
  {
    kind: 'an altered row of the read model',
    tamper({ dataDir, random }) {
      const db = new DatabaseSync(join(dataDir, 'read-model.db'));
      try {
        rewriteRow(db, openLog({ dataDir, org: 'org-1', random }), random);
      } finally {
        db.close();
      }
    },
  },
];

/** Puts another text in the place of an event's, in a row whose checksum is right. */
function rewriteRow(db: DatabaseSync, { events }: OpenLog, random: Random): void {
  const frame = random.pick(events);
  const value = Buffer.from(frameValue(frame));
  alter(value);
  const source = withReceivedTime(value, frameTime(frame)).toString();
  const values = { value: () => value };
  const format = new RowFormat('auditevent', new Texts(db), values);
  const rows = db
    .prepare('SELECT rowid, * FROM "auditevent" WHERE deleted = 0 AND "offset" = ? AND source IS NULL')
    .all(frame.offset);
  const row = rows[0];
  if (!row) throw new Error(`the read model has no row of record ${frame.offset}`);
  const stored = format.storedOf('', row as never);
  const changed = format.valuesOf({ op: 'create', kind: 'auditevent', ...stored, source, recorded: false } as never);
  const columns = columnsOf('auditevent');
  const set = columns.map((name) => `${name} = ?`).join(', ');
  db.prepare(`UPDATE "auditevent" SET ${set} WHERE rowid = ?`).run(...(changed as never[]), row.rowid as never);
}
