import type { FastifyRequest } from 'fastify';
import { validationFailed } from '../../contract/errors.js';
import { resourceKindOf } from '../../kinds/kinds.js';
import { propertyFault } from '../../kinds/properties.js';
import { readInstant } from '../../model/instant.js';
import type { QuerySpec } from '../../model/query.js';
import { lowerCaseId } from '../../platform/text.js';
import type { EventTimes } from '../../queries/audit-list.js';
import type { AuditFilterDto } from '../../shapes/audit-list.js';
import { compileShape } from '../../shapes/compiled.js';
import { QueryDto, specFaults } from '../../shapes/resource.js';
import { checkBody } from '../errors/request-faults.js';

const bodyFaults = compileShape(QueryDto);

/** The body of a `-query` on a kind. Throws `validation_failed`. */
export function checkQueryBody(
  request: FastifyRequest,
  kind: string,
): { readonly spec: QuerySpec; readonly fetch: 'items' | 'links' } {
  const body = checkBody<QueryDto>(bodyFaults, request.body);
  const spec = withLowerCaseIds((body.spec ?? {}) as QuerySpec);
  const faults = specFaults(spec, kind, '/spec', (path) => propertyFault(resourceKindOf(kind), path));
  if (body.kind !== undefined && body.kind !== kind) faults.push({ pointer: '/kind', reason: `must be ${kind}` });
  if (faults.length > 0) throw validationFailed(faults);
  return { spec, fetch: body.fetch ?? 'items' };
}

function withLowerCaseIds(spec: QuerySpec): QuerySpec {
  const terms = spec.terms?.map((term) =>
    term.property === 'id' && typeof term.value === 'string' ? { ...term, value: lowerCaseId(term.value) } : term,
  );
  return { ...spec, ...(terms && { terms }) };
}

/** The bounds on `eventTime` that checked query parameters name. */
export function eventTimes({ fromEvent, toEvent }: AuditFilterDto): EventTimes {
  const from = fromEvent === undefined ? undefined : readInstant(fromEvent);
  const to = toEvent === undefined ? undefined : readInstant(toEvent);
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}
