import { type ApiCall, path } from '../../client/api-client.js';
import { ClientError } from '../../client/errors.js';
import { type Query, queryText } from '../../client/pages.js';
import { Lines } from '../../tlog/lines.js';

/** Lines of a proven export that came together: those of events, and those that prove them. */
export interface Separated {
  readonly events: Buffer;
  readonly proof: Buffer;
  /** Events until now. */
  readonly count: number;
}

const NEWLINE = Buffer.from('\n');
const PIECE_BYTES = 256 * 1024;
const KIND = '{"kind":';
const END = '{"kind":"exportend"';

/** The call for an export with its proof. */
export function provenExport(org: string, filters: Query): ApiCall {
  const at = path`/audit/org/${org}/-export` + queryText({ ...filters, proof: 'true' });
  return { method: 'GET', path: at, on: 'audit', retry: 'never' };
}

/** Separates the lines of `-export?proof=true`. Throws `ClientError` if the answer ends before its last line. */
export async function* separated(answer: AsyncIterable<Buffer>): AsyncGenerator<Separated> {
  const lines = new Lines(answer);
  let events: Buffer[] = [];
  let proof: Buffer[] = [];
  let [count, bytes, isWhole, isLeafNext] = [0, 0, false, false];
  for (let line = await lines.next(); line; line = lines.take() ?? (await lines.next())) {
    const isEvent = !isLeafNext && line.toString('latin1', 0, KIND.length) !== KIND;
    isWhole = !isLeafNext && line.toString('latin1', 0, END.length) === END;
    isLeafNext = isEvent;
    if (isEvent) count += 1;
    (isEvent ? events : proof).push(line, NEWLINE);
    bytes += line.length;
    if (bytes < PIECE_BYTES) continue;
    yield { events: Buffer.concat(events), proof: Buffer.concat(proof), count };
    [events, proof, bytes] = [[], [], 0];
  }
  if (!isWhole) throw new ClientError(`the export is not complete, it stopped after ${count}`);
  yield { events: Buffer.concat(events), proof: Buffer.concat(proof), count };
}

/** The two parts as streams of their own; each reads on for both, so neither waits for the other. */
export function bothParts(parts: AsyncIterator<Separated>): Record<'events' | 'proof', AsyncGenerator<Buffer>> {
  const waiting: Record<'events' | 'proof', Buffer[]> = { events: [], proof: [] };
  let isOver = false;
  const read = async () => {
    const { done, value } = await parts.next();
    isOver = done === true;
    if (done) return;
    waiting.events.push(value.events);
    waiting.proof.push(value.proof);
  };
  async function* part(name: 'events' | 'proof'): AsyncGenerator<Buffer> {
    for (;;) {
      const bytes = waiting[name].shift();
      if (bytes) yield bytes;
      else if (isOver) return;
      else await read();
    }
  }
  return { events: part('events'), proof: part('proof') };
}
