import { isIP } from 'node:net';
import { member } from '../../../contract/json-text.js';
import { textOf } from '../values.js';
import { jsonObject, outcomeOf, publisherOf, type Recorded, restOf } from './recorded.js';

const VERSION = '1.5.0';
/** API Activity, of the category Application Activity. */
const CLASS = 6003;
const CATEGORY = 6;

/** The activities of the class, by the types of action that they cover. Any other type is Other, with its own name. */
const ACTIVITIES: readonly (readonly [id: number, name: string, types: ReadonlySet<string>])[] = [
  [1, 'Create', new Set(['create', 'add', 'insert', 'register', 'invite', 'upload', 'issue'])],
  [2, 'Read', new Set(['read', 'view', 'get', 'list', 'query', 'search', 'export', 'download', 'show'])],
  [3, 'Update', new Set(['update', 'edit', 'patch', 'change', 'set', 'modify', 'rename', 'replace'])],
  [4, 'Delete', new Set(['delete', 'remove', 'destroy', 'purge', 'revoke'])],
];
const OTHER = 99;

const STATUS = { success: [1, 'Success'], failure: [2, 'Failure'] } as const;
const SEVERITY = { success: [1, 'Informational'], failure: [3, 'Medium'], unknown: [1, 'Informational'] } as const;

/**
 * One event as API Activity of OCSF 1.5.0. Its `unmapped` has every member that the class has no attribute for, as it was recorded.
 */
export function ocsfEvent(raw: string): string {
  const event = JSON.parse(raw) as Recorded;
  const { eventTime, receivedTime, requestId, context, action, result, resource } = event;
  const type = textOf(action?.type);
  const [activity, activityName] = activityOf(type);
  const [severity, severityName] = SEVERITY[outcomeOf(event)];
  const outcome = outcomeOf(event);
  const attributes = {
    ...{ activity_id: activity, activity_name: activityName, category_uid: CATEGORY, class_uid: CLASS },
    ...{ category_name: 'Application Activity', class_name: 'API Activity', type_uid: CLASS * 100 + activity },
    type_name: `API Activity: ${activity === OTHER ? 'Other' : activityName}`,
    time: Date.parse(textOf(eventTime)) || 0,
    ...{ severity_id: severity, severity: severityName },
    ...statusOf(outcome, textOf(result?.status)),
    status_detail: result?.message,
    message: [type || 'unknown', textOf(resource?.type), textOf(resource?.name) || textOf(resource?.id)]
      .join(' ')
      .trim(),
    metadata: metadataOf(event, receivedTime, requestId),
    api: { operation: type || 'unknown' },
    actor: actorOf(event),
    src_endpoint: endpointOf(textOf(context?.remoteIp)),
  };
  const resourceText = member(raw, 'resource');
  const data = resourceText?.startsWith('{') ? member(resourceText, 'data') : undefined;
  const shown = jsonObject({ uid: resource?.id, name: resource?.name, type: resource?.type }, { data });
  return jsonObject(attributes, { resources: `[${shown}]`, unmapped: unmappedOf(raw) });
}

function activityOf(type: string): readonly [number, string] {
  const found = ACTIVITIES.find(([, , types]) => types.has(type.toLowerCase()));
  return found ? [found[0], found[1]] : [OTHER, type || 'Other'];
}

function statusOf(outcome: ReturnType<typeof outcomeOf>, said: string): object {
  if (outcome === 'unknown')
    return said === '' ? { status_id: 0, status: 'Unknown' } : { status_id: OTHER, status: said };
  const [status_id, status] = STATUS[outcome];
  return { status_id, status, status_code: said };
}

/** The subject, whose account is the organization; without one, who published the event. */
function actorOf(event: Recorded): object {
  const { subject, context } = event;
  const [name, email, org] = [subject?.name, subject?.email, context?.org].map(textOf);
  if (!name && !email) return { invoked_by: textOf(publisherOf(event)) || 'unknown' };
  const account = { name: org, uid: org, type_id: OTHER, type: 'Organization' };
  return {
    user: { name: name || email, uid: email || name, type_id: 0, ...(email && { email_addr: email }), account },
  };
}

function metadataOf({ id, context }: Recorded, receivedTime: unknown, requestId: unknown): object {
  return {
    version: VERSION,
    product: { name: 'Control Service', vendor_name: 'Control Service', feature: { name: 'audit' } },
    uid: textOf(id),
    tenant_uid: textOf(context?.org),
    log_name: textOf(context?.name),
    log_provider: textOf(context?.eventSource) || undefined,
    logged_time: Date.parse(textOf(receivedTime)) || undefined,
    correlation_uid: textOf(requestId) || undefined,
  };
}

function endpointOf(address: string): object {
  if (address === '') return { name: 'unknown' };
  return isIP(address) > 0 ? { ip: address } : { name: address };
}

/** By the member, what of it has an attribute. */
const MAPPED: Readonly<Record<string, readonly string[]>> = {
  resource: ['id', 'name', 'type', 'data'],
  subject: ['name', 'email'],
  action: ['type'],
  result: ['status', 'message'],
  context: ['org', 'name', 'remoteIp', 'eventSource'],
};

const WHOLE = ['id', 'eventTime', 'receivedTime', 'requestId'];

function unmappedOf(raw: string): string | undefined {
  const parts = Object.entries(MAPPED).map(([name, taken]) => [name, restOf(member(raw, name), taken)] as const);
  const others = restOf(raw, [...WHOLE, ...Object.keys(MAPPED)]);
  const rest = jsonObject({}, Object.fromEntries(parts));
  const all = [rest, others].map((text) => (text ?? '{}').slice(1, -1)).filter((text) => text.trim() !== '');
  return all.length === 0 ? undefined : `{${all.join(',')}}`;
}
