import { ControlError } from '../../../../contract/errors.js';
import { LIMITS } from '../../../../contract/limits.js';
import type { Steps } from '../../../../platform/turns.js';

/** Members by their names in OTLP's JSON, and attributes by their own. */
export type Members = Record<string, unknown>;

/** A log record, a resource or a scope that was read. */
export interface Read {
  /** At least those that are texts, numbers or booleans, as texts or as they are. Not the attributes. */
  readonly members: Members;
  /** An attribute that is a text, a number or a boolean: as a text or as it is. */
  readonly attribute: (name: string) => unknown;
  /** Members of its JSON without braces: all that was sent, but for `observedTimeUnixNano`. */
  readonly json: Buffer;
}

/** A resource or a scope as it was sent, with the schema of what belongs to it. */
export interface Owner {
  readonly bytes: Buffer;
  readonly schemaUrl: Buffer;
}

/** A log record as it was sent, with what it belongs to. */
export interface SentLog {
  readonly resource: Owner;
  readonly scope: Owner;
  readonly bytes: Buffer;
}

/** A part with what is not known in place of its list: an `ExportLogsServiceRequest` of it alone, when it is recorded. */
export interface Unknown {
  readonly request: () => Buffer;
  /** How long it is, more or less. */
  readonly length: number;
  readonly reason: string;
}

export type Sent = SentLog | Unknown;

/** A part of a request that has a list, as it was sent. */
export interface Part {
  readonly name: string;
  readonly bytes: Buffer;
  /** Whether it has anything that is not known. */
  readonly hasOthers: boolean;
  readonly hasItems: boolean;
  /** A request of one such part alone. */
  readonly request: (part: Buffer) => Buffer;
  readonly resource?: Owner;
}

/**
 * Adds a part that has what is not known in place of its list: it would vanish otherwise. Beside a list it is ignored, as OTLP
 * requires of receivers.
 */
export function addUnknown(sent: Sent[], { name, bytes, hasOthers, hasItems, request, resource }: Part): void {
  if (!hasOthers || hasItems) return;
  const length = bytes.length + (resource?.bytes.length ?? 0);
  const reason = `the ${name} has members that are not known in place of its list`;
  addTo(sent, { request: () => request(bytes), length, reason });
}

/** One of the two formats of OTLP. What reads a part throws any error if that part cannot be read. */
export interface Format {
  /** Finds the log records of an `ExportLogsServiceRequest`, and what is not known. Throws a refusal of the whole request. */
  readonly split: (request: Buffer) => Steps<Sent[]>;
  readonly record: (bytes: Buffer) => Read;
  readonly resource: (resource: Owner) => Read;
  readonly scope: (scope: Owner) => Read;
  /** An `ExportLogsServiceRequest` of one log record: all that was sent of it. */
  readonly requestOf: (log: SentLog) => Buffer;
  /** Whether requests are bytes, no text. */
  readonly isBinary: boolean;
}

/** An item more in a list that a request may have only so many of. Throws `payload_too_large`. */
export function addTo<Item>(list: Item[], item: Item): void {
  if (list.length === LIMITS.ingest.lines) throw tooLarge(`has more than ${LIMITS.ingest.lines} log records`);
  list.push(item);
}

export function tooLarge(fault: string): ControlError {
  return new ControlError('payload_too_large', `the request ${fault}; let the exporter send smaller batches`);
}

/**
 * Attributes by their names. If a name is there twice, which OpenTelemetry forbids, or can be none in an event, they stay a
 * list: nothing is lost.
 */
export function attributesOf(pairs: readonly (readonly [key: string, value: unknown])[]): Members | Members[] {
  const members: Members = {};
  for (const [key, value] of pairs) {
    if (key === '__proto__' || Object.hasOwn(members, key)) return pairs.map(([key, value]) => ({ key, value }));
    members[key] = value;
  }
  return members;
}

/** An integer of 64 bits, digit for digit. */
export function integer(value: bigint): unknown {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : JSON.rawJSON(String(value));
}

/** Members of one object, without braces. */
export function joined(...parts: readonly Buffer[]): Buffer {
  const some = parts.filter(({ length }) => length > 0);
  return Buffer.concat(some.flatMap((part, index) => (index > 0 ? [COMMA, part] : [part])));
}

const COMMA = Buffer.from(',');
