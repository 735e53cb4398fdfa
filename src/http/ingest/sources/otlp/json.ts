import { ControlError } from '../../../../contract/errors.js';
import { COLON, COMMA, END, JsonTokens, OPEN_OBJECT, QUOTE, trimmed } from '../../../../contract/json-tokens.js';
import { LIMITS } from '../../../../contract/limits.js';
import { isObject } from '../../../../model/json.js';
import { STEP_BYTES, type Steps } from '../../../../platform/turns.js';
import { arrayItems } from '../../../json/array.js';
import { parseJson } from '../../../json/parse.js';
import {
  addTo,
  addUnknown,
  attributesOf,
  type Format,
  integer,
  type Members,
  type Owner,
  type Read,
  type Sent,
  tooLarge,
} from './format.js';

/** What `AnyValue` and `KeyValue` add, three levels to each, is not there any more in the event. */
const LEVELS_AROUND = 3 * LIMITS.depth;

const NOTHING = Buffer.alloc(0);
/** So much shows whether a value is empty. */
const SHORT_BYTES = 1024;
/** What writers of protobuf's JSON write for what is not set, and the blank place of no member at all. */
const NOTHING_SAID = /^(?:null|\[\s*\]|\{\s*\}|"")?$/;
const INTEGER = /^-?\d{1,20}$/;

/**
 * OTLP in JSON. Names are those of protobuf in camelCase; in snake_case, too, because all that has names which OTLP does not
 * know would be ignored otherwise. Members of log records that it does not know are kept.
 */
export const OTLP_JSON: Format = {
  *split(request) {
    const sent: Sent[] = [];
    const { parts, hasOthers } = yield* partsOf(request, ['resourceLogs']);
    const items = yield* itemsOf(parts.resourceLogs, 'resourceLogs');
    const part = { name: 'request', bytes: request, hasOthers, hasItems: items.length > 0 };
    addUnknown(sent, { ...part, request: (whole) => whole });
    for (const item of items) yield* addResourceLogs(item, sent);
    return sent;
  },
  record: (bytes) => {
    const { body, ...others } = membersOf(bytes);
    return readOf(body === undefined ? others : { ...others, body: anyValue(body) });
  },
  resource: owned,
  scope: owned,
  requestOf: ({ resource, scope, bytes }) => {
    const scopeLogs = object({ scope: scope.bytes, logRecords: array(bytes), schemaUrl: scope.schemaUrl });
    return requestOfScope(resource, scopeLogs);
  },
  isBinary: false,
};

function requestOfScope({ bytes, schemaUrl }: Owner, scopeLogs: Buffer): Buffer {
  return requestOfResource(object({ resource: bytes, scopeLogs: array(scopeLogs), schemaUrl }));
}

function requestOfResource(resourceLogs: Buffer): Buffer {
  return object({ resourceLogs: array(resourceLogs) });
}

function* addResourceLogs(bytes: Buffer, sent: Sent[]): Steps<void> {
  const { parts, hasOthers } = yield* partsOf(bytes, ['resource', 'scopeLogs', 'schemaUrl']);
  const { scopeLogs, ...owner } = parts;
  const resource = ownerOf(owner.resource, owner.schemaUrl);
  const items = yield* itemsOf(scopeLogs, 'scopeLogs');
  const part = { name: 'ResourceLogs', bytes, hasOthers, hasItems: items.length > 0 };
  addUnknown(sent, { ...part, request: requestOfResource });
  for (const item of items) yield* addScopeLogs(item, resource, sent);
}

function* addScopeLogs(bytes: Buffer, resource: Owner, sent: Sent[]): Steps<void> {
  const { parts, hasOthers } = yield* partsOf(bytes, ['scope', 'logRecords', 'schemaUrl']);
  const { logRecords, ...owner } = parts;
  const scope = ownerOf(owner.scope, owner.schemaUrl);
  const items = yield* itemsOf(logRecords, 'logRecords');
  const part = { name: 'ScopeLogs', bytes, hasOthers, hasItems: items.length > 0, resource };
  const request = (scopeLogs: Buffer) => requestOfScope(resource, scopeLogs);
  addUnknown(sent, { ...part, request });
  for (const record of items) {
    addTo(sent, { resource, scope, bytes: record });
    yield;
  }
}

function ownerOf(bytes: Buffer = NOTHING, schemaUrl: Buffer = NOTHING): Owner {
  return { bytes, schemaUrl };
}

/**
 * The texts of some members of an object; those that are null count as absent. `hasOthers`: whether any other member says
 * something.
 */
function* partsOf<Name extends string>(
  bytes: Buffer,
  names: readonly Name[],
): Steps<{ readonly parts: { [Each in Name]?: Buffer }; readonly hasOthers: boolean }> {
  const tokens = new JsonTokens(bytes);
  if (tokens.next() !== OPEN_OBJECT) throw malformed('an object is expected in place of another value');
  const parts: { [Each in Name]?: Buffer } = {};
  let hasOthers = false;
  let name: string | undefined;
  let member = tokens.end;
  let start = 0;
  for (let pause = STEP_BYTES; tokens.depth > 0; ) {
    if (tokens.end >= pause) {
      yield;
      pause = tokens.end + STEP_BYTES;
    }
    const token = tokens.next();
    if (token === END) throw malformed('an object has no end');
    if (token === QUOTE && tokens.depth === 1)
      name ??= camelCase(bytes.toString('utf8', tokens.start + 1, tokens.end - 1));
    else if (token === COLON && tokens.depth === 1) start = tokens.end;
    else if ((token === COMMA && tokens.depth === 1) || tokens.depth === 0) {
      const value = bytes.subarray(Math.max(start, member), tokens.start);
      const wanted = names.find((one) => one === name);
      if (wanted && parts[wanted]) throw malformed(`${wanted} is there twice`);
      if (wanted && shortText(value) !== 'null') parts[wanted] = value;
      if (!wanted) hasOthers ||= !NOTHING_SAID.test(shortText(value) ?? 'long');
      name = undefined;
      member = tokens.end;
    }
  }
  if (tokens.next() !== END) throw malformed('something follows its end');
  return { parts, hasOthers };
}

/** Undefined for a text that is long without the white space around it. */
function shortText(value: Buffer): string | undefined {
  const text = trimmed(value);
  return text.length > SHORT_BYTES ? undefined : text.toString('latin1');
}

function* itemsOf(bytes: Buffer | undefined, name: string): Steps<Buffer[]> {
  if (!bytes) return [];
  const items = yield* arrayItems(bytes, LIMITS.ingest.lines + 1);
  if (!items) throw malformed(`${name} is no array`);
  if (items.length > LIMITS.ingest.lines) throw tooLarge(`has more than ${LIMITS.ingest.lines} ${name}`);
  return items;
}

function malformed(fault: string): ControlError {
  return new ControlError('malformed_json', `the body is no ExportLogsServiceRequest: ${fault}`);
}

function owned({ bytes, schemaUrl }: Owner): Read {
  const members = bytes.length > 0 ? membersOf(bytes) : {};
  return readOf(schemaUrl.length > 0 ? { ...members, schemaUrl: parseJson(schemaUrl).value } : members);
}

function readOf(members: Members): Read {
  const { observedTimeUnixNano: _, ...others } = members;
  const attributes = isObject(members.attributes) ? members.attributes : {};
  const attribute = (name: string) => (Object.hasOwn(attributes, name) ? attributes[name] : undefined);
  return { members, attribute, json: Buffer.from(JSON.stringify(others).slice(1, -1)) };
}

/** Of an object with attributes, which become one by their names. */
function membersOf(bytes: Buffer): Members {
  if (bytes.length > LIMITS.bodyBytes) throw new RangeError(`it has ${bytes.length} bytes`);
  const { value } = parseJson(bytes, LEVELS_AROUND);
  if (!isObject(value)) throw new TypeError('it is no object');
  const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [camelCase(name), member]));
  return 'attributes' in members ? { ...members, attributes: keyValues(members.attributes) } : members;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** What is no list of `KeyValue` stays as it is. */
function keyValues(sent: unknown): unknown {
  if (!Array.isArray(sent)) return sent;
  const pairs: [string, unknown][] = [];
  for (const pair of sent) {
    if (!isObject(pair) || typeof pair.key !== 'string' || Object.keys(pair).some((name) => !IN_PAIR.has(name)))
      return sent;
    pairs.push([pair.key, anyValue(pair.value ?? null)]);
  }
  return attributesOf(pairs);
}

const IN_PAIR = new Set(['key', 'value']);

/** What is no `AnyValue` stays as it is. */
function anyValue(sent: unknown): unknown {
  if (!isObject(sent) || JSON.isRawJSON(sent)) return sent;
  const [only, ...others] = Object.entries(sent);
  if (!only) return null;
  const [name, value] = only;
  return others.length === 0 ? typed(camelCase(name), value) : sent;

  function typed(type: string, value: unknown): unknown {
    switch (type) {
      case 'stringValue':
      case 'boolValue':
      case 'doubleValue':
      case 'bytesValue':
        return value;
      case 'intValue':
        return typeof value === 'string' && INTEGER.test(value) ? integer(BigInt(value)) : value;
      case 'arrayValue':
        return isList(value) ? value.values.map(anyValue) : sent;
      case 'kvlistValue':
        return isList(value) ? keyValues(value.values) : sent;
      default:
        return sent;
    }
  }
}

function isList(value: unknown): value is { readonly values: readonly unknown[] } {
  return isObject(value) && Array.isArray(value.values);
}

function array(item: Buffer): Buffer {
  return Buffer.concat([Buffer.from('['), item, Buffer.from(']')]);
}

/** Members without a text are left out. */
function object(members: Readonly<Record<string, Buffer | undefined>>): Buffer {
  const pieces: Buffer[] = [];
  for (const [name, text] of Object.entries(members))
    if (text?.length) pieces.push(Buffer.from(`${pieces.length === 0 ? '{' : ','}"${name}":`), text);
  return Buffer.concat([...pieces, Buffer.from(pieces.length === 0 ? '{}' : '}')]);
}
