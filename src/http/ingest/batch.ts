import { createHash } from 'node:crypto';
import type { FastifyBaseLogger } from 'fastify';
import type { PublishItem } from '../../commands/audit-publish.js';
import type { Steps } from '../../platform/turns.js';
import { type Candidate, readEvent, Unmappable } from './candidate.js';
import { unmappedEvents } from './unmapped.js';

/** So many lines, or bytes, are made events at once: what waits for its turn is kept as it was sent. */
const BATCH_LINES = 1_000;
const BATCH_BYTES = 1024 * 1024;

const HASHED_BYTES = 1024 * 1024;

/** What a line becomes: one event, or several that keep a long text. */
export interface Line {
  /** Its number in the request, from 1. */
  readonly line: number;
  readonly items: readonly PublishItem[];
  /** Why it is recorded as it came. */
  readonly reason?: string;
}

interface Reading {
  readonly contextName: string;
  /** The key of the whole request, if it has one. */
  readonly batchKey: string | undefined;
  readonly now: number;
  readonly log: FastifyBaseLogger;
}

/** Makes events of the lines of a request. */
export class BatchReader {
  constructor(private readonly reading: Reading) {}

  /** The next lines, from the one at `start`. */
  *read(candidates: readonly Candidate[], start: number): Steps<Line[]> {
    const lines: Line[] = [];
    let bytes = 0;
    for (const candidate of candidates.slice(start, start + BATCH_LINES)) {
      if (bytes >= BATCH_BYTES) break;
      lines.push(yield* this.line(candidate, start + lines.length + 1));
      bytes += candidate.length ?? candidate.raw.length;
      yield;
    }
    return lines;
  }

  private *line(candidate: Candidate, line: number): Steps<Line> {
    const { contextName, batchKey, now } = this.reading;
    const keyOfBatch = batchKey === undefined ? undefined : `${batchKey}/${line}`;
    try {
      const made = yield* candidate.event();
      const read = Buffer.isBuffer(made) ? readEvent(made, now) : made;
      const { idempotencyKey = candidate.key ?? keyOfBatch, ...item } = read;
      const digest =
        idempotencyKey === undefined ? undefined : yield* digestOf(idempotencyKey, candidate.identity ?? candidate.raw);
      return { line, items: [digest === undefined ? item : { ...item, digest }] };
    } catch (error) {
      const reason = this.reasonOf(error, line);
      const named = (error instanceof Unmappable && error.key) || candidate.key || keyOfBatch;
      const digest = named === undefined ? undefined : yield* digestOf(named, candidate.identity ?? candidate.raw);
      const events = yield* unmappedEvents(contextName, candidate.raw, reason, candidate.isBinary);
      const items = events.map((one, part) => ({
        event: one,
        ...(digest && { digest: part ? partOf(digest, part) : digest }),
      }));
      return { line, items, reason };
    }
  }

  /** A line that the service fails at is kept, too: refused, it would be sent again and again. */
  private reasonOf(error: unknown, line: number): string {
    if (error instanceof Unmappable) return error.message;
    this.reading.log.error({ err: error, line }, 'a line could not be read, and is recorded as it came');
    return 'the service failed to read it';
  }
}

/** The same key and text are the same event, however it is mapped. */
function* digestOf(key: string, raw: Buffer): Steps<string> {
  const hash = createHash('sha256').update(`${Buffer.byteLength(key)}:${key}`);
  for (let start = 0; start < raw.length; start += HASHED_BYTES) {
    if (start > 0) yield;
    hash.update(raw.subarray(start, start + HASHED_BYTES));
  }
  return hash.digest('hex');
}

function partOf(digest: string, part: number): string {
  return createHash('sha256').update(`${digest}/${part}`).digest('hex');
}
