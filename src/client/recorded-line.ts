import { MAX_EVENT_BYTES, type NewAuditEvent } from './api-types.js';
import { SpoolError } from './errors.js';

/** How a line begins whose time the client has set; one whose time the application set begins with its key. */
const TIMED = '{"event":{"eventTime":';
/** Of a search for what JSON has no form for; the service takes fewer levels. */
const DEEPEST = 100;

/** The item of a bulk for an event. Gives it its time, if it has none. Throws `SpoolError` for what can be no event. */
export function lineOf(event: NewAuditEvent, idempotencyKey: string): string {
  const text = jsonOf(event);
  const { resource, eventTime, ...rest } = JSON.parse(text) as Partial<NewAuditEvent>;
  if (!resource?.id && !resource?.name) throw invalid('has no `resource` with an `id` or a `name`');
  const key = `"idempotencyKey":${JSON.stringify(idempotencyKey)}`;
  if (eventTime !== undefined && eventTime !== null) return `{${key},"event":${fitting(text)}}`;
  const others = eventTime === null ? JSON.stringify({ resource, ...rest }) : text;
  return `{"event":${fitting(`{"eventTime":"${new Date().toISOString()}",${others.slice(1)}`)},${key}}`;
}

/** The line without the time that the client has set; undefined if the application set it. */
export function withoutTime(line: Buffer): Buffer | undefined {
  if (line.toString('latin1', 0, TIMED.length) !== TIMED) return undefined;
  return Buffer.concat([Buffer.from('{"event":{'), line.subarray(line.indexOf(',') + 1)]);
}

/** Throws `SpoolError` for what is no JSON object; it names the member that JSON has no form for. */
export function jsonOf(event: unknown): string {
  try {
    const text: string | undefined = JSON.stringify(event);
    if (text?.startsWith('{')) return text;
    throw new TypeError(`JSON has ${/^["[]/.test(text ?? '') ? 'a list or a text' : text} for it`);
  } catch (error) {
    throw invalid(unfit(event, '', []) ?? `is no JSON object: ${(error as Error)?.message ?? error}`, error);
  }
}

/** What is wrong with the first value that JSON has no form for. Objects within objects are those `above` it. */
function unfit(value: unknown, pointer: string, above: readonly unknown[]): string | undefined {
  if (typeof value === 'bigint') return `has a BigInt at ${pointer}, which JSON has no form for`;
  if (above.includes(value)) return `has an object within itself at ${pointer}`;
  if (typeof value !== 'object' || value === null || above.length > DEEPEST) return undefined;
  for (const name of Object.keys(value)) {
    const at = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const fault = unfit(Object.getOwnPropertyDescriptor(value, name)?.value, at, [...above, value]);
    if (fault) return fault;
  }
  return undefined;
}

function fitting(text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_EVENT_BYTES) return text;
  throw new SpoolError('too-large', `the event has ${bytes} bytes, and the service takes ${MAX_EVENT_BYTES} at most`);
}

const invalid = (fault: string, cause?: unknown): SpoolError =>
  new SpoolError('invalid', `the event ${fault}; nothing was recorded`, { cause });
