import type { Published } from '../../commands/acknowledgements.js';
import type { PublishItem } from '../../commands/audit-publish.js';
import { keysTaken } from '../../commands/key-conflicts.js';
import { ControlError, type FieldFault } from '../../contract/errors.js';
import { LIMITS } from '../../contract/limits.js';
import type { BulkItem } from './bulk-items.js';

/** The items of a bulk that is recorded as a whole. Throws `validation_failed` if any has a fault, and names each that has. */
export function requireSound(items: readonly BulkItem[], idempotencyKey: string | undefined): PublishItem[] {
  const faulty = items.flatMap((item, at) => (item instanceof ControlError ? [{ at, error: item }] : []));
  if (faulty.length > 0) {
    const most = Math.max(1, Math.floor(LIMITS.faults / faulty.length));
    const fields = faulty.flatMap(({ at, error }) => faultsOf(at, error).slice(0, most));
    const message = `${faulty.length} of ${items.length} items cannot be recorded, so none is; details.fields names them`;
    throw new ControlError('validation_failed', message, { fields });
  }
  return (items as readonly PublishItem[]).map((item, at) =>
    idempotencyKey === undefined || item.idempotencyKey !== undefined ? item : { ...item, idempotencyKey, at },
  );
}

function faultsOf(at: number, { message, details }: ControlError): FieldFault[] {
  const { fields } = details as { readonly fields?: readonly FieldFault[] };
  if (!fields) return [{ pointer: `/${at}`, reason: message }];
  return fields.map(({ pointer, reason }) => ({ pointer: `/${at}${pointer}`, reason }));
}

/** Throws why a bulk is not, or may not be, recorded and indexed as a whole. */
export function requireWhole(published: readonly Published[]): void {
  const failed = published.flatMap((one, at) => ('error' in one ? [{ at, error: one.error }] : []));
  const [first] = failed;
  if (!first) return;
  const places = failed.map(({ at }) => at);
  switch (first.error.code) {
    case 'outcome_unknown':
      throw new ControlError(
        'outcome_unknown',
        'the log did not confirm all events in time; send the same bulk again, with the same keys: that completes it',
        {},
        { cause: first.error },
      );
    case 'idempotency_conflict':
      throw keysTaken(places, 'they were taken while this request was under way, and all other items are recorded');
    case 'dead_lettered':
      throw new ControlError(
        'dead_lettered',
        `all events are recorded, but ${places.length} cannot be indexed; report the request id to the operator`,
        { fields: places.map((at) => ({ pointer: `/${at}`, reason: 'is recorded, but cannot be indexed' })) },
      );
    default:
      throw first.error;
  }
}
