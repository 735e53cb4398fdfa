import type { FastifyRequest } from 'fastify';
import { validationFailed } from '../../contract/errors.js';
import type { QuerySpec } from '../../model/query.js';
import { compileShape } from '../../shapes/compiled.js';
import { specFaults } from '../../shapes/query-faults.js';
import { QueryDto } from '../../shapes/resource.js';
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
