import { createHash } from 'node:crypto';
import { ControlError } from '../../../contract/errors.js';
import { LIMITS } from '../../../contract/limits.js';
import type { SentAuditEvent } from '../../../model/audit-event.js';
import { canonicalJson, type Json } from '../../../model/json.js';
import type { Steps } from '../../../platform/turns.js';
import { parseJson } from '../../json/parse.js';
import { AHEAD_MS } from '../../requests/event-check.js';
import { type Candidate, Unmappable } from '../candidate.js';
import { type Parts, settingsReader } from '../mapping.js';
import type { Arrival } from './body.js';
import { eventOf, keyOf } from './otlp/event.js';
import {
  type Format,
  joined,
  type Members,
  type Owner,
  type Read,
  type SentLog,
  tooLarge,
  type Unknown,
} from './otlp/format.js';

/** All log records of a request with their resources: a few bytes may name a large resource. */
const MOST_BYTES = 4 * LIMITS.ingest.bytes;

/**
 * The log records of an `ExportLogsServiceRequest`, one candidate each, to be read when its turn comes. What is recorded of it
 * is the JSON of the log record with its resource and scope. Throws if the request is none or too large.
 */
export function* otlpCandidates(
  request: Buffer,
  format: Format,
  { contextName, settings, now }: Arrival,
): Steps<Candidate[]> {
  const reading = new Reading(format, contextName, now + AHEAD_MS, settingsReader(settings, now));
  let bytes = 0;
  return (yield* format.split(request)).map((sent) => {
    const candidate = 'request' in sent ? new KeptCandidate(sent, format.isBinary) : new LogCandidate(sent, reading);
    bytes += candidate.length;
    if (bytes > MOST_BYTES) throw tooLarge(`takes over ${MOST_BYTES} bytes as events`);
    return candidate;
  });
}

/** What all log records of a request are read with. */
class Reading {
  readonly resource: (owner: Owner) => SharedRead;
  readonly scope: (owner: Owner) => SharedRead;

  constructor(
    readonly format: Format,
    readonly contextName: string,
    readonly latest: number,
    readonly said: ReturnType<typeof settingsReader>,
  ) {
    this.resource = rememberLast(format.resource);
    this.scope = rememberLast(format.scope);
  }
}

/** A log record with what it belongs to. */
class LogCandidate implements Candidate {
  key: string | undefined;
  identity: Buffer | undefined;

  constructor(
    private readonly sent: SentLog,
    private readonly reading: Reading,
  ) {}

  get length(): number {
    const { resource, scope, bytes } = this.sent;
    return resource.bytes.length + scope.bytes.length + bytes.length;
  }

  get isBinary(): boolean {
    return this.reading.format.isBinary;
  }

  get raw(): Buffer {
    return this.reading.format.requestOf(this.sent);
  }

  *event(): Steps<Buffer> {
    const log = this.read();
    const { record, resource, scope } = log;
    const { observedTimeUnixNano } = record.members;
    const seen = Buffer.from(membersIn({ observedTimeUnixNano }));
    const data = joined(seen, record.json, within('resource', resource.json), within('scope', scope.json));
    const { said, contextName, latest } = this.reading;
    yield;
    const parts = said?.(parsed(data));
    this.key = parts?.key ?? keyOf(log);
    if (this.key !== undefined) this.identity = yield* identityOf(record, resource, scope);
    const event = eventOf(log, contextName, latest);
    const { resource: named, ...others } = parts ? overridden(event, parts) : event;
    const rest = membersIn(others);
    return Buffer.concat([
      Buffer.from(`{"resource":{${membersIn(named)},"data":{`),
      data,
      Buffer.from(rest === '' ? '}}}' : `}},${rest}}`),
    ]);
  }

  private read(): { readonly record: Read; readonly resource: SharedRead; readonly scope: SharedRead } {
    const { sent, reading } = this;
    try {
      const [resource, scope] = [reading.resource(sent.resource), reading.scope(sent.scope)];
      return { record: reading.format.record(sent.bytes), resource, scope };
    } catch (error) {
      const fault = (error as Error).message;
      throw new Unmappable(`the log record or what it belongs to cannot be read: ${fault}`);
    }
  }
}

/** What the settings of the context say goes before the semantic conventions. */
function overridden(
  event: SentAuditEvent,
  { resource, others: { eventTime, subject, action, result } }: Parts,
): SentAuditEvent {
  return {
    ...event,
    resource: { ...event.resource, ...resource },
    ...(eventTime !== undefined && { eventTime }),
    ...(subject && { subject: { ...event.subject, ...subject } }),
    ...(action && { action: { ...event.action, ...action } }),
    ...(result && { result: { ...event.result, ...result } }),
  };
}

/**
 * A digest without when the log record was seen, of sorted members: a Collector that was killed reads its files again, sees the
 * same lines later, and sends attributes in any order.
 */
function* identityOf(record: Read, resource: SharedRead, scope: SharedRead): Steps<Buffer> {
  const own = sorted(record.json);
  yield;
  const owners = [within('resource', resource.sorted), within('scope', scope.sorted)];
  return createHash('sha256')
    .update(Buffer.concat([own, ...owners]))
    .digest();
}

/** What is recorded as it came: a request of it alone. */
class KeptCandidate implements Candidate {
  constructor(
    private readonly sent: Unknown,
    readonly isBinary: boolean,
  ) {}

  get length(): number {
    return this.sent.length;
  }

  get raw(): Buffer {
    return this.sent.request();
  }

  // biome-ignore lint/correctness/useYield: nothing is read
  *event(): Steps<never> {
    throw new Unmappable(this.sent.reason);
  }
}

/** What many log records belong to. */
class SharedRead implements Read {
  readonly members: Members;
  readonly attribute: Read['attribute'];
  readonly json: Buffer;
  private inOrder: Buffer | undefined;

  constructor({ members, attribute, json }: Read) {
    this.members = members;
    this.attribute = attribute;
    this.json = json;
  }

  get sorted(): Buffer {
    this.inOrder ??= sorted(this.json);
    return this.inOrder;
  }
}

/** Reads what many log records in a row belong to once. */
function rememberLast(read: (owner: Owner) => Read): (owner: Owner) => SharedRead {
  let last: { readonly owner: Owner; readonly read: SharedRead } | undefined;
  return (owner) => {
    if (last?.owner !== owner) last = { owner, read: new SharedRead(read(owner)) };
    return last.read;
  };
}

/** Of members without braces. */
function sorted(json: Buffer): Buffer {
  return Buffer.from(canonicalJson(parsed(json)));
}

/** Throws `Unmappable`. */
function parsed(json: Buffer): Json {
  try {
    return parseJson(Buffer.concat([OPEN, json, CLOSE])).value as Json;
  } catch (error) {
    if (error instanceof ControlError) throw new Unmappable(error.message.replace('the body', 'the log record'));
    throw error;
  }
}

const OPEN = Buffer.from('{');
const CLOSE = Buffer.from('}');

/** A member with an object of these members; nothing of none. */
function within(name: string, json: Buffer): Buffer {
  return json.length > 0 ? Buffer.concat([Buffer.from(`"${name}":{`), json, CLOSE]) : json;
}

/** The JSON of the members, without braces. */
function membersIn(members: object): string {
  return JSON.stringify(members).slice(1, -1);
}
