import type { EventLog, LogRecord, Topic } from '../../event-log/event-log.js';
import { readRange } from '../../event-log/read-range.js';
import type { Clock } from '../../platform/clock.js';
import { turnOfTheLoop } from '../../platform/waiting.js';
import { identifierOf, isSamePosition, type Write } from '../../read-model/document.js';
import type { Expiry } from '../../read-model/retention.js';
import { type Project, type Projection, skipUnreadable } from '../projection.js';

import type { Stretch } from './scan.js';

/** The writes of a range of one partition. Passages follow each other without a gap. */
export interface Passage extends Stretch {
  /** In the order of the log; of `put` and `delete` only the last of an identifier. */
  readonly writes: readonly Write[];
  /** Writes replaced by those last ones: they must not be stored; if one is, the comparison of the last one shows it. */
  readonly replaced: readonly Write[];
  readonly records: number;
}

/** Few enough that a passage does not delay other work. */
const RECORDS = 200;

/** Reads a range of a topic whose records do not depend on earlier ones. Unreadable records have no writes. */
export async function* passagesOf(
  log: EventLog,
  projection: Projection,
  stretch: Stretch,
  signal: AbortSignal,
): AsyncGenerator<Passage> {
  const project = tolerant(projection);
  for await (const records of slicesOf(log, stretch, signal)) {
    yield {
      ...records.stretch,
      writes: records.all.flatMap((record) => project(record)),
      replaced: [],
      records: records.all.length,
    };
    await turnOfTheLoop();
  }
}

/**
 * A topic whose records depend on earlier ones. Knows the last write of each identifier before `end`, in memory: one entry
 * an identifier.
 */
export class FoldedTopic {
  private readonly last = new Map<string, Write['place']>();
  private project: Project;
  /** Everything before this offset has been projected. */
  private folded = 0;

  private constructor(
    private readonly log: EventLog,
    private readonly projection: Projection,
    private readonly end: number,
    private readonly signal: AbortSignal,
  ) {
    this.project = tolerant(projection);
  }

  static async read(log: EventLog, projection: Projection, end: number, signal: AbortSignal): Promise<FoldedTopic> {
    const topic = new FoldedTopic(log, projection, end, signal);
    for await (const write of topic.writes(end)) {
      if (write.op !== 'create') topic.last.set(identifierOf(write.kind, write), write.place);
    }
    topic.project = tolerant(projection);
    topic.folded = 0;
    return topic;
  }

  /** The passages from `from` to `to`. Call it once. */
  async *passages(from: number, to: number): AsyncGenerator<Passage> {
    for await (const { stretch, all } of slicesOf(this.log, this.stretch(this.end), this.signal)) {
      const writes = all.flatMap((record) => this.project(record));
      this.folded = stretch.to;
      const isLast = (write: Write) => {
        const last = write.op !== 'create' && this.last.get(identifierOf(write.kind, write));
        return !last || isSamePosition(last, write.place);
      };
      const asked = writes.filter(({ place }) => place.offset >= from && place.offset < to);
      const passage = { ...stretch, from: Math.max(from, stretch.from), to: Math.min(to, stretch.to) };
      if (passage.from >= passage.to) continue;
      const replaced = asked.filter((write) => !isLast(write));
      yield { ...passage, writes: asked.filter(isLast), replaced, records: all.length };
      await turnOfTheLoop();
    }
  }

  /** The writes behind the end, up to `to`, that were not returned before. Call it after all passages. */
  async *later(to: number): AsyncGenerator<Write> {
    yield* this.writes(to);
  }

  private async *writes(to: number): AsyncGenerator<Write> {
    for await (const { stretch, all } of slicesOf(this.log, this.stretch(to), this.signal)) {
      for (const record of all) yield* this.project(record);
      this.folded = stretch.to;
      await turnOfTheLoop();
    }
  }

  private stretch(to: number): Stretch {
    return { topic: this.projection.topic, partition: 0, from: this.folded, to };
  }
}

function tolerant(projection: Projection): Project {
  return skipUnreadable(projection, projection.start(), () => undefined);
}

async function* slicesOf(
  log: EventLog,
  { topic, partition, from, to }: Stretch,
  signal: AbortSignal,
): AsyncGenerator<{ readonly stretch: Stretch; readonly all: readonly LogRecord[] }> {
  let at = from;
  const stretch = (end: number): Stretch => {
    const found = { topic: topic as Topic, partition, from: at, to: end };
    at = end;
    return found;
  };
  for await (const { records, next } of readRange(log, topic, { [partition]: from }, { [partition]: to }, signal)) {
    for (let first = 0; first < records.length; first += RECORDS) {
      const all = records.slice(first, first + RECORDS);
      const isEnd = first + RECORDS >= records.length;
      yield { stretch: stretch(isEnd ? next : (all.at(-1)?.offset ?? at) + 1), all };
    }
  }
  // Gaps are allowed, also at the end.
  if (at < to) yield { stretch: stretch(to), all: [] };
}

/**
 * Those of the creations, all of one partition, that were not stored because an earlier record of their identifier had not
 * expired yet, by the present retention. Reads the partition from its beginning.
 */
export async function repetitionsAmong(
  writes: readonly Write[],
  { log, projection, expiry, clock, signal }: FirstRecordsOptions,
): Promise<ReadonlySet<Write>> {
  const found = new Set<Write>();
  const [first] = writes;
  if (!first) return found;
  const sought = new Map(writes.map((write) => [identifierOf(write.kind, write), write]));
  const last = Math.max(...writes.map(({ place }) => place.offset));
  const { topic, partition } = first.place;
  for await (const passage of passagesOf(log, projection, { topic, partition, from: 0, to: last }, signal)) {
    for (const earlier of passage.writes) {
      const write = sought.get(identifierOf(earlier.kind, earlier));
      if (!write || earlier.place.offset >= write.place.offset) continue;
      if (!hadExpired(earlier, write.place.time, expiry, clock.now())) found.add(write);
    }
  }
  return found;
}

export interface FirstRecordsOptions {
  readonly log: EventLog;
  readonly projection: Projection;
  readonly expiry: Expiry;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Whether the document had expired at that instant, if the limit has moved with the time since. */
function hadExpired(write: Write, at: number, expiry: Expiry, now: number): boolean {
  const limit = expiry.limit(write.kind, write);
  return limit !== undefined && write.place.time < limit - (now - at);
}
