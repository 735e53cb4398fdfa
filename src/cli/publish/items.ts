import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { member } from '../../client/json-text.js';
import { Occurrences } from './occurrences.js';
import type { Piece } from './pieces.js';

/** One event to publish: its JSON as it stands in the file, and the key that makes publishing it again harmless. */
export interface Item {
  line: number;
  event: string;
  key: string;
}

/** A place in the input that holds no event. */
export interface Fault {
  line: number;
  fault: string;
}

/**
 * Turns pieces into items. A key is the SHA-256 of the piece's bytes and the number of its occurrence in this file: the
 * same file published again adds nothing, and equal lines of one file are still events of their own.
 */
export async function* readItems(pieces: AsyncIterable<Piece>): AsyncGenerator<Item | Fault> {
  const occurrences = new Occurrences();
  for await (const { line, bytes, fault } of pieces) {
    const read = bytes ? readEvent(bytes) : { fault: fault ?? 'empty' };
    if ('fault' in read) {
      yield { line, fault: read.fault };
      continue;
    }
    const hash = createHash('sha256')
      .update(bytes as Buffer)
      .digest();
    yield { line, event: read.event, key: `${hash.toString('hex')}-${occurrences.next(hash)}` };
  }
}

/** The event's own text: the piece itself, or the member `event` of the form `{source, event}`. */
function readEvent(bytes: Buffer): { event: string } | { fault: string } {
  if (!isUtf8(bytes)) return { fault: 'not UTF-8' };
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `not JSON: ${(error as Error).message}` };
  }
  if (!isObject(value)) return { fault: 'not a JSON object' };
  const wrapped = isObject(value.event) && value.resource === undefined;
  return { event: wrapped ? (member(text, 'event') ?? text) : text };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The item as one line of a bulk request. A line feed within JSON text stands between tokens only, where a space means
 * the same.
 */
export const bulkLine = ({ key, event }: Item): string =>
  `{"idempotencyKey":${JSON.stringify(key)},"event":${event.replace(/[\r\n]/g, ' ')}}\n`;
