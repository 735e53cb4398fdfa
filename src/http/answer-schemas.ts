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

/** The state of a job whose report is of this schema. */
function job(report: string): Record<string, unknown> {
  return object(
    {
      kind: { const: 'job' },
      name: { enum: ['rebuild', 'reconcile'] },
      state: { enum: ['idle', 'running', 'done', 'failed'] },
      id: uuid,
      phase: text,
      done: count,
      total: count,
      started: time,
      finished: time,
      report: ref(report),
      error: text,
      links: array(ref('Link')),
    },
    ['id', 'phase', 'done', 'total', 'started', 'finished', 'report', 'error'],
  );
}

/** A document of the read model that is not as the log says. */
function difference(problems: readonly string[], more: Record<string, object> = {}): Record<string, unknown> {
  const place = { topic: text, partition: count, offset: count };
  return object({ problem: { enum: problems }, itemKind: text, org: text, id: text, ...place, ...more });
}

const counts = (problems: readonly string[]) => object(Object.fromEntries(problems.map((problem) => [problem, count])));

/** What an operator with the root key is answered. */
function maintenanceSchemas(): Record<string, Record<string, unknown>> {
  const ofRebuild = ['missing', 'altered', 'extra'];
  const ofReconciliation = [...ofRebuild, 'misplaced'];
  return {
    RebuildJob: job('RebuildReport'),
    RebuildReport: object({
      kind: { const: 'rebuild' },
      generation: count,
      records: count,
      unreadable: count,
      compared: count,
      differences: counts(ofRebuild),
      items: array(difference(ofRebuild)),
      omitted: count,
    }),
    ReconcileJob: job('ReconciliationReport'),
    ReconciliationReport: object({
      kind: { const: 'reconciliation' },
      compared: count,
      repaired: count,
      differences: counts(ofReconciliation),
      items: array(difference(ofReconciliation, { repaired: { type: 'boolean' } })),
      omitted: count,
    }),
    DeadLetter: object(
      {
        kind: { const: 'deadletter' },
        place: text,
        topic: text,
        partition: count,
        offset: count,
        time,
        reason: text,
        key: text,
        bytes: count,
        replayed: { type: 'boolean' },
        value: { type: 'string', contentEncoding: 'base64' },
      },
      ['value'],
    ),
    DeadLetterList: object({
      kind: { const: 'list' },
      itemKind: { const: 'deadletter' },
      items: array(ref('DeadLetter')),
      links: array(ref('Link')),
    }),
    DeadLetterReplay: object({
      kind: { const: 'deadletterreplay' },
      items: array(object({ place: text, now: text })),
    }),
  };
}

/** What the service answers with, by the names that the OpenAPI document gives them; request shapes included. */
export function schemas(): Record<string, Record<string, unknown>> {
  const shapes = shapeSchemas('#/components/schemas/');
  const { properties } = shapes.AuditEventDto as { properties: Record<string, object> };
  return {
    ...shapes,
    ...maintenanceSchemas(),
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
    AuditContext: object(
      {
        kind: { const: 'auditctx' },
        id: uuid,
        name: text,
        retentionDays: { type: ['integer', 'null'], minimum: 1 },
        count,
        version: { type: 'integer', minimum: 1 },
        created: time,
        lastModified: time,
        links: array(ref('Link')),
      },
      ['id', 'version', 'created', 'lastModified'],
    ),
    AuditContextList: object({
      kind: { const: 'list' },
      itemKind: { const: 'auditctx' },
      items: array(ref('AuditContext')),
      links: array(ref('Link')),
    }),
    Org: object({ kind: { const: 'org' }, ...resource }),
    CreatedOrg: object({ kind: { const: 'org' }, ...resource, serviceAccount: text, key: text }),
  };
}
