import { StoreUnusable } from '../../platform/store-unusable.js';
import { CorruptRecord } from '../event-log.js';
import type { Noted } from './format.js';
import { type Frame, frameAt } from './frame.js';
import type { Places } from './places.js';
import type { RecordsFile, Scanned } from './records-file.js';

/** A partition as the scan sees it. */
export interface Counted {
  /** `topic/partition` */
  readonly name: string;
  /** Its first offset in `log.records`. */
  readonly first: number;
  readonly places: Places;
}

/**
 * Finds where the log ends, and returns the next offset of each partition, by its number. Reads only what follows the place
 * that was last noted, and enters it into the partitions' places; all of the file if places are missing.
 *
 * Removes what a crash left of the last commit: nothing of that was acknowledged. Throws `CorruptRecord` if anything is
 * missing that was acknowledged, as far as that shows: by what was noted, by a place, or by a commit behind the damage.
 */
export async function recover(records: RecordsFile, partitions: readonly Counted[], noted: Noted): Promise<number[]> {
  const size = await records.size();
  if (size < noted.bytes) {
    throw new StoreUnusable(
      `${records.file}: was cut off: it has ${size} of ${noted.bytes} bytes: restore it from a backup`,
    );
  }
  records.end = noted.bytes;
  const isKnown = partitions.every((partition, number) => hasPlaces(records, partition, number, noted));
  const heads = partitions.map(({ name, first }) => (isKnown ? (noted.heads[name] ?? first) : first));
  const witnessed = partitions.map(({ places }) => (isKnown ? places.end : 0));
  let end = isKnown ? noted.bytes : records.start;
  for (const commit of records.commits(end, size)) {
    enter(records, partitions, heads, commit);
    end += commit.reduce((sum, { place }) => sum + place.size, 0);
  }
  for (const [number, { name, places }] of partitions.entries()) {
    const next = heads[number] ?? 0;
    const isWitnessed = (witnessed[number] ?? 0) > next && places.known(next, 1).length > 0;
    const isLost = isWitnessed || next < (noted.heads[name] ?? 0);
    if (isLost) throw new CorruptRecord(`${records.file}: ${name}: record ${next} was altered, or is missing`);
  }
  if (end < noted.bytes || (end < size && records.hasCommitBehind(end, size))) {
    throw new CorruptRecord(`${records.file}: a record at ${end} was altered`);
  }
  await records.endAt(end);
  for (const [number, { places }] of partitions.entries()) places.cut(heads[number] ?? 0);
  return heads;
}

/** Whether the places go up to what was noted, and are those of this file. */
function hasPlaces(records: RecordsFile, { name, first, places }: Counted, number: number, noted: Noted): boolean {
  const next = noted.heads[name] ?? first;
  if (next === first) return true;
  const [last] = places.end >= next ? places.known(next - 1, 1) : [];
  if (!last || last.position + last.size > noted.bytes) return false;
  const frame = frameAt(records.read(last), 0, records.seed);
  return frame?.partition === number && frame.offset === next - 1;
}

/** Checks that the records of the commit follow the heads, enters where they are, and moves the heads. */
export function enter(
  records: Pick<RecordsFile, 'file'>,
  partitions: readonly (Pick<Counted, 'name'> & { readonly places: Pick<Places, 'write'> | undefined })[],
  heads: number[],
  commit: readonly Scanned[],
): void {
  const found = new Map<number, Scanned[]>();
  for (const scanned of commit) {
    const { partition, offset } = scanned.frame;
    const of = found.get(partition) ?? [];
    requireNext(records, partitions[partition], (heads[partition] ?? 0) + of.length, offset);
    of.push(scanned);
    found.set(partition, of);
  }
  for (const [number, of] of found) {
    const head = heads[number] ?? 0;
    partitions[number]?.places?.write(
      head,
      of.map(({ place }) => place),
    );
    heads[number] = head + of.length;
  }
}

/** Offsets are dense in this store, so a gap is a lost record. */
function requireNext(
  records: Pick<RecordsFile, 'file'>,
  partition: Pick<Counted, 'name'> | undefined,
  next: number,
  offset: Frame['offset'],
): void {
  if (!partition) throw new CorruptRecord(`${records.file}: has a record of a partition that the log does not have`);
  if (offset !== next) throw new CorruptRecord(`${records.file}: ${partition.name}: record ${next} is missing`);
}
