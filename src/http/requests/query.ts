import type { FastifyRequest } from 'fastify';
import { validationFailed } from '../../contract/errors.js';
import { parseInstant } from '../../model/instant.js';
import type { QuerySpec } from '../../model/query.js';
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
  const faults = specFaults((body.spec ?? {}) as QuerySpec, kind, '/spec');
  if (body.kind !== undefined && body.kind !== kind) faults.push({ pointer: '/kind', reason: `must be ${kind}` });
  if (faults.length > 0) throw validationFailed(faults);
  return { spec: (body.spec ?? {}) as QuerySpec, fetch: body.fetch ?? 'items' };
}

/** The bounds on `eventTime` that checked query parameters name. */
export function eventTimes({ fromEvent, toEvent }: AuditFilterDto): EventTimes {
  const from = fromEvent === undefined ? undefined : parseInstant(fromEvent);
  const to = toEvent === undefined ? undefined : parseInstant(toEvent);
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}
