import { ERRORS } from '../errors.js';
import { ref } from './documented.js';
import { shapeSchemas } from './dto/compiled.js';

const text = { type: 'string' };
const time = { type: 'string', format: 'date-time' };
const uuid = { type: 'string', format: 'uuid' };
const count = { type: 'integer', minimum: 0 };
const array = (items: object) => ({ type: 'array', items });
const map = { type: 'object', additionalProperties: text };

function object(properties: Record<string, object>, optional: readonly string[] = []): Record<string, unknown> {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

const resource = {
  id: uuid,
  name: text,
  description: text,
  tags: map,
  version: { type: 'integer', minimum: 1 },
  created: time,
  lastModified: time,
  links: array(ref('Link')),
};

/** What the service answers with, by the names that the OpenAPI document gives them; request shapes included. */
export function schemas(): Record<string, Record<string, unknown>> {
  const shapes = shapeSchemas('#/components/schemas/');
  const { properties } = shapes.AuditEventDto as { properties: Record<string, object> };
  return {
    ...shapes,
    Error: object({
      status: count,
      message: text,
      code: { type: 'string', enum: Object.keys(ERRORS) },
      details: { type: 'object' },
      id: text,
    }),
    Link: object({ rel: text, href: text }),
    Text: text,
    OpenApi: { type: 'object' },
    Backup: { type: 'string', contentMediaType: 'application/vnd.sqlite3' },
    Health: object({ status: text }),
    PublishAcknowledgement: object({ id: uuid, message: text }),
    BulkItem: {
      oneOf: [
        { $ref: '#/components/schemas/AuditEventDto' },
        object({ idempotencyKey: text, event: ref('AuditEventDto') }, ['idempotencyKey']),
      ],
    },
    BulkResult: object({
      kind: { const: 'bulkresult' },
      items: array({
        oneOf: [
          object({ index: count, id: uuid, status: { enum: [201, 202] }, message: text }),
          object({ index: count, status: { type: 'integer', minimum: 400 }, error: ref('Error') }),
        ],
      }),
      succeeded: count,
      failed: count,
    }),
    AuditEvent: {
      type: 'object',
      properties: { ...properties, id: uuid, eventTime: time, postedTime: time, receivedTime: time },
      required: ['id', 'resource', 'eventTime', 'postedTime', 'receivedTime', 'requestId', 'context', 'subject'],
      additionalProperties: false,
    },
    AuditEventEnvelope: object({
      kind: { const: 'auditevent' },
      itemKind: { const: 'auditevent' },
      item: ref('AuditEvent'),
      query: map,
      links: array(ref('Link')),
    }),
    AuditEventList: object({
      kind: { const: 'queryresult' },
      itemKind: { const: 'auditevent' },
      items: array(ref('AuditEvent')),
      query: map,
      links: array(ref('Link')),
    }),
    AuditExportLine: {
      oneOf: [ref('AuditEvent'), object({ kind: { const: 'exportend' }, count, cursor: text })],
    },
    AuditContextList: object({
      kind: { const: 'list' },
      itemKind: { const: 'auditctx' },
      items: array(object({ kind: { const: 'auditctx' }, name: text, count, links: array(ref('Link')) })),
      links: array(ref('Link')),
    }),
    Org: object({ kind: { const: 'org' }, ...resource }),
    CreatedOrg: object({ kind: { const: 'org' }, ...resource, serviceAccount: text, key: text }),
  };
}
