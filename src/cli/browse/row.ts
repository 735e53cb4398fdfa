import { whoOf } from '../output/events.js';
import { objectOf, textOf } from '../output/values.js';

/** The fields of an event that a filter `key:value` may name. */
export const FIELDS = [
  'action',
  'result',
  'resource',
  'id',
  'type',
  'context',
  'email',
  'publisher',
  'request',
  'location',
  'gvc',
  'pod',
] as const;
export type Field = (typeof FIELDS)[number];

/** One event of the list. All texts are as the service sent them, shortened: what draws them escapes them. */
export interface Row {
  readonly id: string;
  readonly raw: string;
  readonly time: string;
  readonly who: string;
  readonly message: string;
  readonly fields: Readonly<Record<Field, string>>;
  /** What a word of the filter is looked for in, in lower case. */
  readonly text: string;
}

/** No terminal shows more of one cell, and a filter that is typed must not search megabytes at each key. */
const LONGEST = 2_000;

/** `raw` is one event as JSON; a member of any type may be there, or none. */
export function rowOf(raw: string): Row {
  const event = objectOf(JSON.parse(raw));
  const [resource, context] = [objectOf(event.resource), objectOf(event.context)];
  const [subject, publisher] = [objectOf(event.subject), objectOf(context.publisher)];
  const result = objectOf(event.result);
  const fields: Record<Field, string> = {
    action: shortText(objectOf(event.action).type),
    result: shortText(result.status),
    resource: shortText(resource.name),
    id: shortText(resource.id),
    type: shortText(resource.type),
    context: shortText(context.name),
    email: shortText(subject.email),
    publisher: shortText(publisher.link ?? publisher.keyId),
    request: shortText(event.requestId),
    location: shortText(context.location),
    gvc: shortText(context.gvcAlias),
    pod: shortText(context.podId),
  };
  const [id, time, message] = [shortText(event.id), shortText(event.eventTime), shortText(result.message)];
  const who = shortText(whoOf({ context, subject }));
  const text = [id, time, who, message, ...Object.values(fields)].join('\n').toLowerCase();
  return { id, raw, time, who, message, fields, text };
}

const shortText = (value: unknown): string => textOf(value).slice(0, LONGEST);
