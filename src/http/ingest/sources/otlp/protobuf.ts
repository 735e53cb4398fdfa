import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { ControlError } from '../../../../contract/errors.js';
import type { Steps } from '../../../../platform/turns.js';
import { addTo, addUnknown, type Format, joined, type Owner, type Read, type Sent } from './format.js';
import { type Fields, JsonOfProtobuf, RECORD, RESOURCE, SCOPE } from './protobuf-json.js';

const { LengthDelimited } = WireType;
const NOTHING = Buffer.alloc(0);
/** So many fields are looked at in a step. */
const STEP_FIELDS = 1_000;

/**
 * OTLP in protobuf, read field by field. The numbers of the fields are those of opentelemetry-proto 1.x. The messages that
 * `protoc-gen-es` makes of it were weighed: they are read whole, in one step, and take more memory and CPU.
 */
export const PROTOBUF: Format = {
  *split(request) {
    const sent: Sent[] = [];
    try {
      const { parts, hasOthers } = yield* partsOf(request, 1);
      const [resources = []] = parts;
      const part = { name: 'request', bytes: request, hasOthers, hasItems: resources.length > 0 };
      addUnknown(sent, { ...part, request: (whole) => whole });
      for (const item of resources) yield* addResourceLogs(item, sent);
    } catch (error) {
      if (error instanceof ControlError) throw error;
      const fault = (error as Error).message;
      throw new ControlError('malformed_protobuf', `the body is no ExportLogsServiceRequest: ${fault}`);
    }
    return sent;
  },
  record: (bytes) => new JsonOfProtobuf(bytes).read(RECORD),
  resource: (resource) => owned(resource, RESOURCE),
  scope: (scope) => owned(scope, SCOPE),
  requestOf: ({ resource, scope, bytes }) => {
    const scopeLogs = message([1, scope.bytes], [2, bytes], [3, scope.schemaUrl]);
    return requestOfScope(resource, scopeLogs);
  },
  isBinary: true,
};

function requestOfScope({ bytes, schemaUrl }: Owner, scopeLogs: Buffer): Buffer {
  return requestOfResource(message([1, bytes], [2, scopeLogs], [3, schemaUrl]));
}

function requestOfResource(resourceLogs: Buffer): Buffer {
  return message([1, resourceLogs]);
}

/** What is in the fields with these numbers, all of which have a length; `hasOthers`: whether there are other fields. */
function* partsOf(
  bytes: Buffer,
  ...numbers: readonly number[]
): Steps<{ readonly parts: Buffer[][]; readonly hasOthers: boolean }> {
  const reader = new BinaryReader(bytes);
  const parts: Buffer[][] = numbers.map(() => []);
  let hasOthers = false;
  for (let fields = 1; reader.pos < bytes.length; fields += 1) {
    const [number, type] = reader.tag();
    const list = type === LengthDelimited ? parts[numbers.indexOf(number)] : undefined;
    if (list) addTo(list, buffer(reader.bytes()));
    else {
      reader.skip(type, number);
      hasOthers = true;
    }
    if (fields % STEP_FIELDS === 0) yield;
  }
  return { parts, hasOthers };
}

function* addResourceLogs(bytes: Buffer, sent: Sent[]): Steps<void> {
  const { parts, hasOthers } = yield* partsOf(bytes, 1, 2, 3);
  const [resources = [], scopes = [], schemaUrl = []] = parts;
  const resource = ownerOf(resources, schemaUrl);
  const part = { name: 'ResourceLogs', bytes, hasOthers, hasItems: scopes.length > 0 };
  addUnknown(sent, { ...part, request: requestOfResource });
  for (const item of scopes) yield* addScopeLogs(item, resource, sent);
}

function* addScopeLogs(bytes: Buffer, resource: Owner, sent: Sent[]): Steps<void> {
  const { parts, hasOthers } = yield* partsOf(bytes, 1, 2, 3);
  const [scopes = [], records = [], schemaUrl = []] = parts;
  const scope = ownerOf(scopes, schemaUrl);
  const part = { name: 'ScopeLogs', bytes, hasOthers, hasItems: records.length > 0, resource };
  const request = (scopeLogs: Buffer) => requestOfScope(resource, scopeLogs);
  addUnknown(sent, { ...part, request });
  for (const record of records) addTo(sent, { resource, scope, bytes: record });
}

/** A message in several fields is all of them together; of a text the last counts. */
function ownerOf(parts: readonly Buffer[], schemaUrls: readonly Buffer[]): Owner {
  const [first = NOTHING] = parts;
  return { bytes: parts.length > 1 ? Buffer.concat(parts) : first, schemaUrl: schemaUrls.at(-1) ?? NOTHING };
}

function owned({ bytes, schemaUrl }: Owner, fields: Fields): Read {
  const read = new JsonOfProtobuf(bytes).read(fields);
  if (schemaUrl.length === 0) return read;
  const schema = new JsonOfProtobuf(message([1, schemaUrl])).read({ 1: ['schemaUrl', 'text'] });
  return { ...read, json: joined(read.json, schema.json) };
}

/** Of fields with a length; empty ones are left out. */
function message(...fields: readonly (readonly [number: number, bytes: Buffer])[]): Buffer {
  const writer = new BinaryWriter();
  for (const [number, bytes] of fields) if (bytes.length > 0) writer.tag(number, LengthDelimited).bytes(bytes);
  return buffer(writer.finish());
}

function buffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
