import { ref } from './documented.js';
import { array, count, object, text, time, uuid } from './parts.js';

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
export function maintenanceSchemas(): Record<string, Record<string, unknown>> {
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
