import type { DatabaseSync } from 'node:sqlite';
import { CorruptRecord, type Topic } from '../event-log.js';
import { type Noted, placesFileOf, prepareLog } from './format.js';
import type { Layout } from './frame.js';
import { numbered } from './layout.js';
import { OldRecords } from './old-records.js';
import { Partition } from './partition.js';
import { Places } from './places.js';
import type { RecordsFile } from './records-file.js';
import { recover } from './recovery.js';

/** The open files of a log: its records, and of each partition their places. */
export interface LogFiles {
  readonly records: RecordsFile;
  readonly topics: ReadonlyMap<Topic, readonly Partition[]>;
}

export async function openFiles(db: DatabaseSync, file: string, layout: Layout): Promise<LogFiles> {
  const { records, noted } = await prepareLog(db, file, layout);
  const parts = numbered(layout).map((one, number) => {
    const { topic, partition, name } = one;
    const first = records.header.first[name] ?? 0;
    const old = first > 0 ? new OldRecords(db, file, one) : undefined;
    if (old && old.next < first) {
      throw new CorruptRecord(`${file}: ${name}: record ${old.next} is missing, and all after it`);
    }
    const places = new Places(placesFileOf(file, topic, partition), records.seed, first);
    return { ...one, number, records, places, old, first };
  });
  try {
    const heads = await recover(records, parts, noted);
    const partitions = parts.map((part, number) => new Partition(part, heads[number] ?? 0));
    return { records, topics: Map.groupBy(partitions, (partition) => partition.parts.topic) };
  } catch (error) {
    for (const { places } of parts) places.close();
    await records.close();
    throw error;
  }
}

export function allPartitions({ topics }: LogFiles): readonly Partition[] {
  return [...topics.values()].flat();
}

export function notedOf(files: LogFiles): Noted {
  const heads = allPartitions(files).map(({ parts, next }) => [parts.name, next] as const);
  return { bytes: files.records.end, heads: Object.fromEntries(heads) };
}

export async function closeFiles(files: LogFiles): Promise<void> {
  for (const { parts } of allPartitions(files)) parts.places.close();
  await files.records.close();
}
