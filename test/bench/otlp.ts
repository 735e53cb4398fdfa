import { type AnyValue, attributes, encodeRequest, type KeyValue, type LogRecord, requestOf } from '../support/otlp.ts';

type Group = Readonly<Record<string, unknown>>;
type Event = { readonly eventTime: string; readonly requestId?: string } & { readonly [group: string]: Group | string };

/** What the semantic conventions call members of an event. Any other member has its own name. */
const CONVENTIONS: Readonly<Record<string, string>> = {
  'resource.name': 'service.name',
  'resource.id': 'service.instance.id',
  'subject.email': 'user.email',
  'subject.name': 'user.name',
  'context.remoteIp': 'client.address',
  'result.status': 'event.outcome',
};

/** An `ExportLogsServiceRequest` in protobuf of these events: a log record each, with all that the event has. */
export function otlpRequest(events: readonly string[]): Buffer<ArrayBuffer> {
  return encodeRequest(
    requestOf(
      events.map((event) => logRecord(JSON.parse(event))),
      {},
    ),
  );
}

function logRecord({ eventTime, requestId, ...groups }: Event): LogRecord {
  const members = Object.entries(groups).flatMap(([group, members]) =>
    Object.entries(members).map(([name, value]) => [`${group}.${name}`, value] as const),
  );
  const { 'action.type': eventName, ...others }: Group = { requestId, ...Object.fromEntries(members) };
  return {
    timeUnixNano: `${Date.parse(eventTime)}000000`,
    eventName: String(eventName),
    attributes: Object.entries(others).map(
      ([name, value]): KeyValue => ({ key: CONVENTIONS[name] ?? name, value: anyValue(value) }),
    ),
  };
}

function anyValue(value: unknown): AnyValue {
  if (typeof value === 'object' && value !== null) {
    if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
    const values = Object.entries(value).map(([key, member]) => ({ key, value: anyValue(member) }));
    return { kvlistValue: { values } };
  }
  const [only] = attributes({ value: typeof value === 'number' ? value : String(value) });
  return typeof value === 'boolean' ? { boolValue: value } : (only?.value ?? {});
}
