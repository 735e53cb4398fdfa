import { type ControlFold, readFold } from '../../control/fold.js';
import { SERVICE_CONTEXT } from '../../model/audit-event.js';
import { deniedServedFrom, servedFrom } from '../../model/auditctx.js';
import { auditContextStream } from '../../model/streams.js';
import type { Clock } from '../../platform/clock.js';
import { DENIED_ATTEMPTS } from '../../read-model/kinds.js';
import type { Retention } from '../../read-model/retention.js';

const NONE: ReadonlyMap<string, number> = new Map();

/** The limits that the folded settings of the audit contexts add up to at the moment. */
export function foldedRetention(fold: ControlFold, clock: Clock): Retention {
  const read = readFold(fold);
  return {
    limits(kind, org) {
      if (kind !== 'auditevent') return NONE;
      const now = clock.now();
      const limits = new Map(read.all('auditctx', org).map((context) => [context.name, servedFrom(context, now)]));
      return limits.set(DENIED_ATTEMPTS, deniedServedFrom(read(auditContextStream(org, SERVICE_CONTEXT)), now));
    },
    orgs(kind) {
      return kind === 'auditevent' ? read.all('org', '').map(({ name }) => name) : [];
    },
  };
}
