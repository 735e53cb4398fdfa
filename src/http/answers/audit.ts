import { LIMITS } from '../../contract/limits.js';
import { ref } from './documented.js';
import { array, count, map, object, readBefore, text, time, uuid } from './parts.js';

const deniedRetentionDays = {
  type: ['integer', 'null'],
  minimum: LIMITS.deniedRetentionDays,
  maximum: LIMITS.retentionDays,
};
const retentionDays = { type: ['integer', 'null'], minimum: 1, maximum: LIMITS.retentionDays };

/** What is published and what is read of it. `event` is the shape of a publication's members. */
export function auditSchemas(event: Record<string, object>): Record<string, Record<string, unknown>> {
  return {
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
      properties: { ...event, id: uuid, eventTime: time, postedTime: time, receivedTime: time },
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
    AuditContext: object(
      {
        kind: { const: 'auditctx' },
        id: uuid,
        name: text,
        retentionDays,
        deniedRetentionDays,
        count,
        version: { type: 'integer', minimum: 1 },
        created: time,
        lastModified: time,
        links: array(ref('Link')),
      },
      ['id', 'version', 'created', 'lastModified', 'deniedRetentionDays'],
    ),
    AuditContextReplacement: {
      ...object({ ...readBefore, kind: { const: 'auditctx' }, name: text, count, retentionDays, deniedRetentionDays }, [
        ...Object.keys(readBefore),
        ...['kind', 'name', 'count', 'retentionDays', 'deniedRetentionDays'],
      ]),
      anyOf: [{ required: ['retentionDays'] }, { required: ['deniedRetentionDays'] }],
    },
    AuditContextList: object({
      kind: { const: 'list' },
      itemKind: { const: 'auditctx' },
      items: array(ref('AuditContext')),
      links: array(ref('Link')),
    }),
  };
}
