import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** A value as OTLP has it in JSON. */
export type AnyValue =
  | Record<string, never>
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly intValue: string | number }
  | { readonly doubleValue: number }
  | { readonly arrayValue: { readonly values: readonly AnyValue[] } }
  | { readonly kvlistValue: { readonly values: readonly KeyValue[] } }
  | { readonly bytesValue: string };

export interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}

export interface LogRecord {
  readonly timeUnixNano?: string;
  readonly observedTimeUnixNano?: string;
  readonly severityNumber?: number;
  readonly severityText?: string;
  readonly eventName?: string;
  readonly body?: AnyValue;
  readonly attributes?: readonly KeyValue[];
  readonly droppedAttributesCount?: number;
  readonly flags?: number;
  readonly traceId?: string;
  readonly spanId?: string;
}

export interface ExportRequest {
  readonly resourceLogs: readonly {
    readonly resource?: { readonly attributes: readonly KeyValue[] };
    readonly schemaUrl?: string;
    readonly scopeLogs: readonly {
      readonly scope?: { readonly name: string; readonly version?: string };
      readonly logRecords: readonly LogRecord[];
    }[];
  }[];
}

export const FORMATS = [
  { type: 'application/json', encode: (request: ExportRequest) => Buffer.from(JSON.stringify(request)) },
  { type: 'application/x-protobuf', encode: encodeRequest },
] as const;

/** Attributes of texts and whole numbers. */
export function attributes(members: Readonly<Record<string, string | number>>): KeyValue[] {
  return Object.entries(members).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
  }));
}

/** One resource, one scope. */
export function requestOf(
  logRecords: readonly LogRecord[],
  resource: Readonly<Record<string, string | number>> = { 'service.name': 'shop' },
): ExportRequest {
  const scopeLogs = [{ scope: { name: 'orders', version: '1.2.3' }, logRecords }];
  return { resourceLogs: [{ resource: { attributes: attributes(resource) }, scopeLogs }] };
}

/** In protobuf, by the field numbers of opentelemetry-proto. */
export function encodeRequest({ resourceLogs }: ExportRequest): Buffer<ArrayBuffer> {
  const writer = new BinaryWriter();
  for (const { resource, scopeLogs, schemaUrl } of resourceLogs) {
    nested(writer, 1, () => {
      if (resource) nested(writer, 1, () => keyValues(writer, 1, resource.attributes));
      for (const { scope, logRecords } of scopeLogs) {
        nested(writer, 2, () => {
          if (scope) {
            nested(writer, 1, () => {
              text(writer, 1, scope.name);
              text(writer, 2, scope.version);
            });
          }
          for (const record of logRecords) nested(writer, 2, () => logRecord(writer, record));
        });
      }
      text(writer, 3, schemaUrl);
    });
  }
  return Buffer.from(writer.finish());
}

function logRecord(writer: BinaryWriter, record: LogRecord): void {
  const { timeUnixNano, observedTimeUnixNano, severityNumber, droppedAttributesCount, flags, body } = record;
  if (timeUnixNano !== undefined) writer.tag(1, WireType.Bit64).fixed64(timeUnixNano);
  if (observedTimeUnixNano !== undefined) writer.tag(11, WireType.Bit64).fixed64(observedTimeUnixNano);
  if (severityNumber !== undefined) writer.tag(2, WireType.Varint).uint32(severityNumber);
  text(writer, 3, record.severityText);
  if (body) nested(writer, 5, () => anyValue(writer, body));
  keyValues(writer, 6, record.attributes ?? []);
  if (droppedAttributesCount !== undefined) writer.tag(7, WireType.Varint).uint32(droppedAttributesCount);
  if (flags !== undefined) writer.tag(8, WireType.Bit32).fixed32(flags);
  bytes(writer, 9, record.traceId, 'hex');
  bytes(writer, 10, record.spanId, 'hex');
  text(writer, 12, record.eventName);
}

function keyValues(writer: BinaryWriter, number: number, pairs: readonly KeyValue[]): void {
  for (const { key, value } of pairs) {
    nested(writer, number, () => {
      text(writer, 1, key);
      nested(writer, 2, () => anyValue(writer, value));
    });
  }
}

function anyValue(writer: BinaryWriter, value: AnyValue): void {
  if ('stringValue' in value) text(writer, 1, value.stringValue);
  if ('boolValue' in value) writer.tag(2, WireType.Varint).bool(value.boolValue as boolean);
  if ('intValue' in value) writer.tag(3, WireType.Varint).int64(value.intValue as string | number);
  if ('doubleValue' in value) writer.tag(4, WireType.Bit64).double(value.doubleValue as number);
  if ('arrayValue' in value) {
    const { values } = value.arrayValue as { readonly values: readonly AnyValue[] };
    nested(writer, 5, () => {
      for (const item of values) nested(writer, 1, () => anyValue(writer, item));
    });
  }
  if ('kvlistValue' in value) {
    const { values } = value.kvlistValue as { readonly values: readonly KeyValue[] };
    nested(writer, 6, () => keyValues(writer, 1, values));
  }
  if ('bytesValue' in value) bytes(writer, 7, value.bytesValue, 'base64');
}

function nested(writer: BinaryWriter, number: number, write: () => void): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  write();
  writer.join();
}

function text(writer: BinaryWriter, number: number, value: string | undefined): void {
  if (value !== undefined) writer.tag(number, WireType.LengthDelimited).string(value);
}

function bytes(writer: BinaryWriter, number: number, value: string | undefined, encoding: 'hex' | 'base64'): void {
  if (value !== undefined) writer.tag(number, WireType.LengthDelimited).bytes(Buffer.from(value, encoding));
}
