import { LIMITS } from '../../contract/limits.js';
import { ref } from './documented.js';
import {
  anything,
  array,
  count,
  kind,
  links,
  list,
  object,
  readBefore,
  refTo,
  text,
  texts,
  time,
  uuid,
  version,
} from './parts.js';

const days = (minimum: number, description: string) => ({
  description,
  type: ['integer', 'null'],
  minimum,
  maximum: LIMITS.retentionDays,
  examples: [365],
});
const settings = {
  retentionDays: days(1, 'For how many days events are served; `null`: for ever.'),
  deniedRetentionDays: days(
    LIMITS.deniedRetentionDays,
    'Of `svc` only: for how many days denied attempts are served; `null`: for ever.',
  ),
  ingest: {
    description: 'How lines that are no events become events; not of `svc`.',
    anyOf: [ref('IngestSettingsDto'), { type: 'null' }],
  },
};
const name = text('Name of the audit context.', 'orders');
const served = count('How many events it serves.');

/** What an export with `proof=true` has besides: `docs/proofs.md` describes the lines. */
const PROOF_LINES = {
  ExportedLeaf: object({
    leaf: count('Index of the leaf of the event in the line before.'),
    salt: text('Salt of the leaf, in base64url.'),
    h: text('First 8 bytes of the leaf hash, in base64url.'),
  }),
  ClosedLeaves: object({
    ...kind('closed'),
    from: count('Index of the first leaf without an event in this export.'),
    count: count('How many leaves.'),
    hashes: array({ type: 'string' }, 'Roots of the fewest complete subtrees of these leaves, in base64.'),
    reasons: {
      description: 'How many leaves are closed for which reason. Claims of the service.',
      type: 'object',
      additionalProperties: { type: 'integer', minimum: 0 },
    },
  }),
  ExportedCheckpoint: object(
    {
      ...kind('checkpoint'),
      note: text("The organization's checkpoint."),
      number: count('Number of the cut.'),
      head: text('Proof that the service log has the checkpoint.'),
    },
    ['head'],
  ),
};

/** How events are distributed over the values of a field, and over time. */
const STATS = object({
  ...kind('auditstats'),
  count: count('How many events match, of those that the caller may read.'),
  without: count('How many of them do not have the field.'),
  values: array(
    object({ value: text('The value.', 'edit'), count: count('How many events have it.') }),
    'The most frequent values, the most frequent first.',
  ),
  error: count(
    'Each count of a value is at most this much too low. 0 unless the field has more than 10,000 different values here. All other counts are exact.',
  ),
  others: {
    description: 'The events that have a value which is not among the most frequent.',
    ...object(
      {
        count: count('How many events.'),
        values: count('How many values; in a cluster about. Absent if there are more than 10,000.'),
      },
      ['values'],
    ),
  },
  buckets: array(
    object({
      fromEvent: time('Where the part begins; it ends where the next begins.'),
      count: count('How many events have their `eventTime` in it.'),
    }),
    'How many events there are in each part of the time.',
  ),
  query: texts('The parameters that the answer rests on, with their defaults.', { by: 'actionType', top: '10' }),
  ...links,
});

/** What the answer about one or several events has besides them. */
const found = {
  query: texts('The parameters that the answer rests on, with their defaults.', { pageSize: '50', order: 'newest' }),
  ...links,
};

/** What is published and what is read of it. `event` is the shape of a publication's members. */
export function auditSchemas(event: Record<string, object>): Record<string, Record<string, unknown>> {
  return {
    ...publicationSchemas(),
    AuditEvent: {
      type: 'object',
      properties: {
        ...event,
        id: uuid('Identifier of the event.'),
        eventTime: time('When it happened.'),
        postedTime: time('When the service accepted the event.'),
        receivedTime: time('When the log recorded the event.'),
      },
      required: ['id', 'resource', 'eventTime', 'postedTime', 'receivedTime', 'requestId', 'context', 'subject'],
      additionalProperties: false,
    },
    AuditEventEnvelope: object({
      ...kind('auditevent'),
      itemKind: { description: 'What the item is.', const: 'auditevent' },
      item: refTo('AuditEvent', 'The event.'),
      ...found,
    }),
    AuditEventList: object({
      ...kind('queryresult'),
      itemKind: { description: 'What the items are.', const: 'auditevent' },
      items: array(ref('AuditEvent'), 'The events.'),
      ...found,
    }),
    ...PROOF_LINES,
    ExportEnd: object({
      ...kind('exportend'),
      count: count('How many events the export has.'),
      cursor: text('Where the next export or list continues.'),
    }),
    AuditExportLine: { oneOf: ['AuditEvent', 'ExportEnd', ...Object.keys(PROOF_LINES)].map(ref) },
    ...contextSchemas(),
    AuditStats: STATS,
  };
}

/** What is sent to be recorded, and what comes of it. */
function publicationSchemas(): Record<string, Record<string, unknown>> {
  const id = uuid('Identifier of the event.');
  const message = text('What became of the event, in words.', 'the event is recorded and can be found');
  const index = count('Position of the item in the request, from 0.');
  const status = (values: object) => ({ description: 'What a publish of this item alone would return.', ...values });
  return {
    PublishAcknowledgement: object({ id, message, proof: text('Its proof, if the request prefers one.') }, ['proof']),
    KeyedEvent: object(
      {
        idempotencyKey: text('Identifies the event: it is recorded once under this key.', 'order-4711-cancelled'),
        event: refTo('AuditEventDto', 'The event.'),
      },
      ['idempotencyKey'],
    ),
    BulkItem: { oneOf: ['AuditEventDto', 'KeyedEvent'].map(ref) },
    RecordedItem: object(
      {
        ...{ index, id, status: status({ type: 'integer', enum: [201, 202] }), message },
        repeated: {
          description:
            'The event was recorded before, with the same key. Absent with `async=true`: that is not known yet.',
          const: true,
        },
      },
      ['repeated'],
    ),
    RefusedItem: object({
      index,
      status: status({ type: 'integer', minimum: 400 }),
      error: refTo('Error', 'Why the item is refused.'),
    }),
    BulkResult: object({
      ...kind('bulkresult'),
      items: array({ oneOf: ['RecordedItem', 'RefusedItem'].map(ref) }, 'A result for each item, in their order.'),
      succeeded: count('How many items are recorded.'),
      failed: count('How many items are refused.'),
    }),
    IngestResult: object(
      {
        ...kind('ingestresult'),
        lines: count('How many lines the request has.'),
        recorded: count('How many of them are recorded as events. With `async=true` repetitions are counted, too.'),
        repeated: count(
          'How many of them were recorded before. Absent with `async=true`, because that is not known yet.',
        ),
        unmapped: count('How many of them are recorded as they came, because nothing maps them.'),
        firstUnmapped: array(
          object({
            line: { description: 'Number of the line, from 1.', type: 'integer', minimum: 1 },
            reason: text('Why it cannot be mapped.'),
          }),
          'The first of these.',
        ),
      },
      ['repeated'],
    ),
    OtlpResponse: anything('An `ExportLogsServiceResponse` that says nothing: every log record is recorded.'),
    OtlpStatus: object({
      code: { description: 'A `google.rpc.Code`.', type: 'integer', examples: [3] },
      message: text('What happened, why, and what to do next; for people.'),
    }),
  };
}

function contextSchemas(): Record<string, Record<string, unknown>> {
  const { description } = settings.ingest;
  const ingest = { description, type: ['object', 'null'], additionalProperties: true };
  const sent = { ...readBefore, ...kind('auditctx'), name, count: served, ...settings };
  return {
    AuditContext: object(
      {
        ...kind('auditctx'),
        id: uuid('Identifier of its settings.'),
        name,
        ...settings,
        count: served,
        version: version('Number of the version of its settings, from 1.'),
        created: time('When its settings were first made.'),
        lastModified: time('When its settings were last changed.'),
        ...links,
      },
      ['id', 'version', 'created', 'lastModified', 'deniedRetentionDays', 'ingest'],
    ),
    AuditContextReplacement: {
      ...object(sent, Object.keys(sent)),
      anyOf: Object.keys(settings).map((setting) => ({ required: [setting] })),
      examples: [{ retentionDays: 365, ingest: { preset: 'vector' } }],
    },
    AuditContextPatch: {
      ...object({ ...sent, ingest }, Object.keys(sent)),
      examples: [{ ingest: { preset: 'vector', time: '/timestamp' } }],
    },
    AuditContextList: list('auditctx', array(ref('AuditContext'), 'The audit contexts, by name.')),
  };
}
