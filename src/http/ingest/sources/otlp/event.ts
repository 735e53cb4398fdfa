import { LIMITS } from '../../../../contract/limits.js';
import type { SentAuditEvent } from '../../../../model/audit-event.js';
import { hasNoControlCharacters } from '../../../../shapes/shape.js';
import type { Members, Read } from './format.js';

/** A log record that was read, with what it belongs to. */
export interface ReadLog {
  readonly record: Read;
  readonly resource: Read;
  readonly scope: Read;
}

/** What names a resource in the semantic conventions; the first of which a log has the name. */
const RESOURCES = [
  { type: 'service', name: ['service.name'], id: ['service.instance.id'] },
  ...['pod', 'cronjob', 'job', 'deployment', 'statefulset', 'daemonset', 'replicaset', 'node'].map((kind) => ({
    type: `k8s.${kind}`,
    name: [`k8s.${kind}.name`],
    id: [`k8s.${kind}.uid`],
  })),
  { type: 'container', name: ['container.name', 'container.id'], id: ['container.id'] },
  { type: 'faas', name: ['faas.name'], id: ['cloud.resource_id', 'faas.instance'] },
  { type: 'host', name: ['host.name', 'host.id'], id: ['host.id'] },
  { type: 'process', name: ['process.executable.name', 'process.command'], id: ['process.pid'] },
  { type: 'file', name: ['log.file.path', 'log.file.name'], id: [] },
];

/** What SDKs set if nobody names the service. */
const UNNAMED = /^unknown_service/;

/** In 64 bits, with a millisecond. */
const NANOSECONDS = /^[1-9]\d{6,19}$/;

/** From this `SeverityNumber` on something went wrong: ERROR and FATAL. */
const ERROR = 17;

/** The text of the first of these attributes that there is. */
type Find = (...names: readonly string[]) => string | undefined;

/**
 * The event of a log record by OpenTelemetry's semantic conventions, without `resource.data`. Attributes of the log record
 * go before those of its resource. It has no time if that would be after `latest`, in milliseconds.
 */
export function eventOf(log: ReadLog, contextName: string, latest: number): SentAuditEvent {
  const [own, inherited] = [log.record, log.resource];
  const [record, scope] = [own.members, log.scope.members];
  const find: Find = (...names) =>
    firstOf(names, (name) => textOf(own.attribute(name)) ?? textOf(inherited.attribute(name)));
  return {
    resource: resourceOf(find, scope, contextName),
    ...present({
      eventTime: firstOf([record.timeUnixNano, record.observedTimeUnixNano], (time) => instant(time, latest)),
      requestId: textOf(record.traceId),
      context: present({
        remoteIp: find('client.address', 'source.address', 'network.peer.address'),
        eventSource: find('service.name') ?? textOf(scope.name),
        location: find('cloud.region'),
        podId: find('k8s.pod.name'),
      }),
      subject: present({
        email: firstOf(['user.email', 'enduser.id'], (name) => addressOf(find(name))),
        name: find('user.name', 'user.full_name', 'enduser.id', 'user.id'),
      }),
      action: present({ type: textOf(record.eventName) ?? find('event.name', 'event.action') }),
      result: present({
        status: statusOf(record, find),
        message: textOf(record.body) ?? find('error.message', 'exception.message'),
      }),
    }),
  };
}

function resourceOf(find: Find, scope: Members, contextName: string): SentAuditEvent['resource'] {
  for (const { type, name: names, id: ids } of RESOURCES) {
    const name = find(...names);
    if (name !== undefined && !UNNAMED.test(name)) return { type, name, ...present({ id: find(...ids) }) };
  }
  return { type: 'service', name: find('service.name') ?? textOf(scope.name) ?? contextName };
}

function statusOf(record: Members, find: Find): string | undefined {
  const outcome = find('event.outcome');
  if (outcome !== undefined) return outcome;
  if (find('error.type', 'exception.type') !== undefined) return 'failure';
  const status = Number(find('http.response.status_code'));
  if (status >= 100) return status < 400 ? 'success' : 'failure';
  return Number(record.severityNumber) >= ERROR ? 'failure' : undefined;
}

/** The name that a log record has among all of its sender, if one is given: an identifier, or its place in a file. */
export function keyOf({ record }: ReadLog): string | undefined {
  const find = (name: string) => textOf(record.attribute(name));
  const uid = find('log.record.uid');
  if (uid !== undefined) return `uid:${uid}`;
  const offset = find('log.file.record_offset');
  const file = find('log.file.path') ?? find('log.file.name');
  return offset === undefined || file === undefined ? undefined : `file:${offset}:${file}`;
}

function firstOf<Item>(items: readonly Item[], textOf: (item: Item) => string | undefined): string | undefined {
  for (const item of items) {
    const text = textOf(item);
    if (text !== undefined) return text;
  }
  return undefined;
}

function addressOf(text: string | undefined): string | undefined {
  return text?.includes('@') ? text : undefined;
}

/** As an event may have it; the whole text is in `resource.data`. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (JSON.isRawJSON(value)) return value.rawJSON;
  if (typeof value !== 'string' || value === '') return undefined;
  const text = value.length > LIMITS.text ? value.slice(0, LIMITS.text).toWellFormed() : value;
  return hasNoControlCharacters(text) ? text : text.replace(/\p{Cc}/gu, ' ');
}

/** Of nanoseconds since 1970, to the nanosecond. What is 0 is not known. */
function instant(nanoseconds: unknown, latest: number): string | undefined {
  const digits = textOf(nanoseconds) ?? '';
  const milliseconds = Number(digits.slice(0, -6));
  if (!NANOSECONDS.test(digits) || milliseconds > latest) return undefined;
  const text = new Date(milliseconds).toISOString();
  const finer = digits.slice(-6);
  return finer === '000000' ? text : `${text.slice(0, -1)}${finer}Z`;
}

type Present<Value> = { [Name in keyof Value]?: Exclude<Value[Name], undefined> };

/** Undefined if no member is there. JSON leaves out those that are not. */
function present<Value extends object>(members: Value): Present<Value> | undefined {
  for (const name in members) if (members[name] !== undefined) return members as Present<Value>;
  return undefined;
}
