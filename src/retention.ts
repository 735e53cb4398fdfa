import type { Clock } from './clock.js';
import { type AuditContextState, servedFrom } from './model/auditctx.js';
import { type ControlFold, readFold } from './model/control-fold.js';
import type { Retention } from './read-model/read-model.js';

const NONE: ReadonlyMap<string, number> = new Map();

/** The limits that the folded settings of the audit contexts add up to at the moment. */
export function foldedRetention(fold: ControlFold, clock: Clock): Retention {
  const read = readFold(fold);
  return {
    limits(kind, org) {
      if (kind !== 'auditevent') return NONE;
      const contexts = read.all('auditctx', org);
      return contexts.length === 0 ? NONE : limitsOf(contexts, clock.now());
    },
    orgs(kind) {
      return kind === 'auditevent' ? orgsWith(fold) : [];
    },
  };
}

function limitsOf(contexts: readonly AuditContextState[], now: number): ReadonlyMap<string, number> {
  return new Map(contexts.map((context) => [context.name, servedFrom(context, now)]));
}

const FAMILY = 'auditctx/';

function orgsWith(fold: ControlFold): string[] {
  return [...fold.families.keys()]
    .filter((family) => family.startsWith(FAMILY))
    .map((family) => family.slice(FAMILY.length));
}
