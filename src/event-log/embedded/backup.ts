import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ControlError } from '../../contract/errors.js';
import { disk } from '../../platform/disk.js';
import { turnOfTheLoop } from '../../platform/waiting.js';
import { CorruptRecord, type Snapshot } from '../event-log.js';
import { allPartitions, type LogFiles, notedOf } from './files.js';
import type { Noted } from './format.js';
import { encodeCommit, encodeHeader, frameValue, type Header, type Layout, TRAILER, type Trailer } from './frame.js';
import { type Numbered, numbered } from './layout.js';
import type { Partition } from './partition.js';
import type { Places } from './places.js';
import { RecordsFile } from './records-file.js';
import { enter } from './recovery.js';

const COPIED_AT_ONCE = 1024 * 1024;

const OLD_RECORDS_AT_ONCE = 500;

/** The disk space left for appends during the copy. */
const SPARE_BYTES = 64 * 1024 * 1024;

/**
 * Writes the log up to its end as it is now: a `log.records` that begins at the first record of every partition, and ends
 * with a `Trailer`, so that a copy which lost its last records is refused. Fails if the log is closed meanwhile.
 */
export async function snapshotOf(
  files: LogFiles,
  layout: Layout,
  to: string,
  isClosed: () => boolean,
): Promise<Snapshot> {
  const { records } = files;
  const { bytes: end, heads } = notedOf(files);
  const { id } = records.header;
  checkSpace(end, dirname(to));
  const copy = await open(to, 'wx', 0o600);
  try {
    await copy.writeFile(encodeHeader({ id, layout, first: {} }));
    for await (const bytes of contents(files, end)) {
      if (isClosed()) throw new ControlError('log_unavailable', 'the log was closed while it was copied');
      await copy.writeFile(bytes);
    }
    await copy.writeFile(trailerOf(heads, records.seed));
    await copy.sync();
  } finally {
    await copy.close();
  }
  return { log: id, heads };
}

async function* contents(files: LogFiles, end: number): AsyncGenerator<Uint8Array> {
  const { records } = files;
  for (const partition of allPartitions(files)) yield* oldContents(partition);
  for (let position = records.start; position < end; position += COPIED_AT_ONCE) {
    yield records.read({ position, size: Math.min(COPIED_AT_ONCE, end - position) });
    await turnOfTheLoop();
  }
}

/** The records that the first format keeps in `log.db`: readers share the statement, so none holds it while it waits. */
async function* oldContents({ parts: { number, old, records } }: Partition): AsyncGenerator<Uint8Array> {
  for (let next = 0; old && next < old.next; ) {
    const batch = old.from(next).take(OLD_RECORDS_AT_ONCE).toArray();
    yield encodeCommit([{ number, records: batch }], records.seed).bytes;
    next += batch.length;
  }
}

function trailerOf(heads: Snapshot['heads'], seed: number): Uint8Array {
  const value = Buffer.from(JSON.stringify({ heads } satisfies Trailer));
  const records = [{ offset: 0, time: 0, key: '', headers: {}, value }];
  return encodeCommit([{ number: TRAILER, records }], seed).bytes;
}

/** A copy that fills the disk would stop appends. */
function checkSpace(bytes: number, folder: string): void {
  if (disk.free(folder) >= bytes + SPARE_BYTES) return;
  throw new ControlError('conflict', 'the data folder has no space for a copy of the log', { bytes });
}

export interface Verified {
  readonly header: Header;
  /** Where the records end, and the heads of the partitions. */
  readonly noted: Noted;
}

/**
 * Checks every record of a backup, and enters where it is, so that the first start need not read them all again. Throws
 * `CorruptRecord` or `StoreUnusable` with the position.
 */
export async function verifyBackup(file: string, placesOf?: PlacesOf): Promise<Verified> {
  const records = await RecordsFile.open(file, 'r');
  const { header, seed, start } = records;
  const parts = numbered(header.layout).map((part) => ({ ...part, first: 0, places: placesOf?.(part, seed) }));
  try {
    const heads = parts.map(() => 0);
    let end = start;
    for (const commit of records.commits(end, await records.size())) {
      const [first] = commit;
      if (first?.frame.partition === TRAILER) {
        const noted = checked(file, parts, heads, end, frameValue(first.frame));
        for (const { places } of parts) await places?.sync();
        return { header, noted };
      }
      enter(records, parts, heads, commit);
      end += commit.reduce((sum, { place }) => sum + place.size, 0);
    }
    const isWhole = end === (await records.size());
    const reason = isWhole ? 'its last records are missing' : `the record at byte ${end} was altered or is missing`;
    throw new CorruptRecord(`${file}: ${reason}: take another backup`);
  } finally {
    for (const { places } of parts) places?.close();
    await records.close();
  }
}

/** Where the places of a partition of the log with this seed are entered. */
type PlacesOf = (part: Numbered, seed: number) => Places;

function checked(
  file: string,
  names: readonly { name: string }[],
  heads: readonly number[],
  bytes: number,
  trailer: Buffer,
) {
  const { heads: expected }: Trailer = JSON.parse(trailer.toString());
  for (const [number, { name }] of names.entries()) {
    const head = heads[number] ?? 0;
    if (head < (expected[name] ?? 0))
      throw new CorruptRecord(`${file}: ${name}: record ${head} is missing, and all after it`);
  }
  return { bytes, heads: expected };
}
