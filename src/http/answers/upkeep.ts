import { ref } from './documented.js';
import { array, count, flag, kind, links, list, object, oneOf, refTo, text, time, uuid, word } from './parts.js';

const place = {
  topic: text('Topic of the record.', 'audit'),
  partition: count('Partition of the record.'),
  offset: count('Offset of the record.'),
};
const placeText = text('`topic/partition/offset` of the record.', 'audit/0/4711');

/** The state of a job whose report is of this schema. */
function job(report: string): Record<string, unknown> {
  return object(
    {
      ...kind('job'),
      name: word(['rebuild', 'reconcile', 'tlog-check'], 'Name of the job.'),
      state: word(['idle', 'running', 'done', 'failed'], 'How far it is.'),
      id: uuid('Identifier of this run.'),
      process: text('The process that runs it.'),
      phase: text('What it does now.'),
      done: count('Records done in this phase.'),
      total: count('Records to do in this phase, as far as is known.'),
      started: time('When the run began.'),
      finished: time('When the run ended.'),
      report: refTo(report, 'What the last run found.'),
      error: text('Why the last run failed.'),
      ...links,
    },
    ['id', 'process', 'phase', 'done', 'total', 'started', 'finished', 'report', 'error'],
  );
}

/** A document of the read model that is not as the log says. */
function difference(problems: readonly string[], more: Record<string, object> = {}): Record<string, unknown> {
  return object({
    problem: oneOf(problems, 'What is wrong with the document.'),
    itemKind: text('Kind of the document.', 'auditevent'),
    org: text('Name of the organization.', 'acme'),
    id: text('Identifier of the document.'),
    ...place,
    ...more,
  });
}

/** What a comparison found, with so many of the differences as a report holds. */
function compared(problems: readonly string[], items: Record<string, unknown>) {
  const counts = problems.map((problem) => [problem, count(`How many documents are ${problem}.`)]);
  return {
    compared: count('Documents that were compared.'),
    differences: { ...object(Object.fromEntries(counts)), description: 'How many differences there are of each kind.' },
    items: array(items, 'The first differences.'),
    omitted: count('Further differences, which are not listed.'),
  };
}

/** What an operator with the root key is answered. */
export function maintenanceSchemas(): Record<string, Record<string, unknown>> {
  const ofRebuild = ['missing', 'altered', 'extra'];
  const ofReconciliation = [...ofRebuild, 'misplaced'];
  return {
    RebuildJob: job('RebuildReport'),
    RebuildReport: object({
      ...kind('rebuild'),
      generation: count('Number of the generation that is live now.'),
      records: count('Records of the log that it was filled from.'),
      unreadable: count('The unreadable ones among them; their dead letters have the reasons.'),
      ...compared(ofRebuild, difference(ofRebuild)),
    }),
    ReconcileJob: job('ReconciliationReport'),
    ReconciliationReport: object({
      ...kind('reconciliation'),
      repaired: count('Documents that were repaired.'),
      ...compared(ofReconciliation, difference(ofReconciliation, { repaired: flag('Whether it was repaired.') })),
    }),
    TlogCheckJob: job('TlogCheckReport'),
    TlogCheckReport: object({
      ...kind('tlogcheck'),
      cuts: count('Cuts that were checked.'),
      records: count('Records that were checked.'),
      orgs: count('Organizations that have leaves.'),
      divergence: { description: 'The first divergence of the trees from the log.', type: ['string', 'null'] },
    }),
    TlogStatus: tlogStatus(),
    DeadLetter: object(
      {
        ...kind('deadletter'),
        place: placeText,
        ...place,
        time: time('When it became a dead letter.'),
        reason: text('Why it cannot be indexed.'),
        key: text('Key of the record.'),
        bytes: count('Size of the record.'),
        replayed: flag('Whether it was replayed.'),
        value: { description: 'Its bytes, with `raw=true`.', type: 'string', contentEncoding: 'base64' },
      },
      ['value'],
    ),
    DeadLetterList: list('deadletter', array(ref('DeadLetter'), 'The dead letters.')),
    DeadLetterReplay: object({
      ...kind('deadletterreplay'),
      items: array(object({ place: placeText, now: text('Its new place.', 'audit/0/4799') }), 'The replayed records.'),
    }),
    DeadLetterSkip: object({
      ...kind('deadletterskip'),
      place: placeText,
      reason: text('Why the record cannot be read.'),
    }),
  };
}

/** How far the history is sealed, as `sealing/status.ts` describes it. */
function tlogStatus(): Record<string, unknown> {
  const seconds = (description: string) => ({ description, type: 'number', minimum: 0 });
  const fault = (description: string) => ({ description, type: ['string', 'null'] });
  const checkpoint = object({
    size: count('Cuts, which is the size of the service log.'),
    at: time('When it was signed.'),
    complete: time('Every record that the log took before is covered.'),
  });
  const quorum = object(
    { name: text('Name of the quorum.'), missingSeconds: seconds('For how long a checkpoint has waited for it.') },
    ['missingSeconds'],
  );
  const witness = object(
    {
      name: text('Name of the witness.'),
      cosigned: time('When it cosigned the published checkpoint.'),
      fault: text('Why it did not cosign when it was last asked.'),
    },
    ['cosigned', 'fault'],
  );
  const anchor = object(
    {
      name: text('Name of the anchor.'),
      kept: time('When this process last gave it a checkpoint.'),
    },
    ['kept'],
  );
  return object(
    {
      ...kind('tlogstatus'),
      seals: flag('Whether this process seals.'),
      origin: text('Name of the service log.'),
      epoch: count('Number of the epoch of the log.'),
      vkey: text('The key that signs from now on.'),
      checkpoint: { ...checkpoint, description: 'The last one that was published.' },
      lagSeconds: seconds('Age of the oldest record that no published checkpoint covers; 0 if there is none.'),
      divergence: fault('Why nothing is signed any more.'),
      stalled: fault('Why a part of the log is not sealed.'),
      quorum: { ...quorum, description: 'The quorum of witnesses that the policy requires.' },
      witnesses: array(witness, 'The witnesses of the policy.'),
      anchors: array(anchor, 'Where checkpoints are kept.'),
      ...links,
    },
    ['vkey', 'checkpoint', 'quorum'],
  );
}
