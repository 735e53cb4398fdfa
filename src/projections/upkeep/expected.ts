import type { EventLog, LogRecord, Topic } from '../../event-log/event-log.js';
import { readRange } from '../../event-log/read-range.js';
import { UnreadableRecord } from '../../event-log/record-schema.js';
import { turnOfTheLoop } from '../../platform/waiting.js';
import type { Write } from '../../read-model/document.js';
import type { Project, Projection } from '../projection.js';
import { identifierOf } from './applied-window.js';
import type { Stretch } from './scanned.js';
import { isSamePosition } from './stored.js';

/** What the log says of a stretch of one of its partitions. Stretches follow each other without a gap. */
export interface Passage extends Stretch {
  /** In the order of the log; of `put` and `delete` only the last of an identifier. */
  readonly writes: readonly Write[];
  /** What those last ones replace: nothing of it is to be stored, and if it is, that shows at the last one. */
  readonly replaced: readonly Write[];
  readonly records: number;
}

/** Few enough that a passage does not keep anything else waiting. */
const RECORDS = 200;

/** Reads a stretch of a topic whose records stand for themselves. Those that cannot be read mean nothing. */
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
 * What a topic says whose records mean something only after those before. Knows which write of each identifier is the
 * last before `end`, which takes the memory of one entry an identifier.
 */
export class FoldedTopic {
  private readonly last = new Map<string, Write['place']>();
  private project: Project;
  /** What has gone into `project`. */
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

  /** The passages from `from` to `to`, in slices. Once. */
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

  /** What came behind the end, up to `to`, that was not given out before. Call it when all passages are through. */
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

/** The same writes, and none for a record that can never be read, where the projection puts such a record aside. */
function tolerant(projection: Projection): Project {
  const project = projection.start();
  return (record) => {
    try {
      return project(record);
    } catch (error) {
      if (!(error instanceof UnreadableRecord) || projection.unreadable === 'stop') throw error;
      return [];
    }
  };
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
