import type { FastifyRequest } from 'fastify';
import { type FieldFault, validationFailed } from '../../contract/errors.js';
import type { QuerySpec, Term } from '../../model/query.js';
import { checkBody } from '../errors/request-faults.js';
import { compileShape } from './compiled.js';
import { QueryDto } from './resource.js';

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

/** What the shape of a query cannot say: a term compares one thing, and with a value where its operator needs one. */
export function specFaults(spec: QuerySpec, kind: string, pointer: string): FieldFault[] {
  return (spec.terms ?? []).flatMap((term, index) => termFaults(term, kind, `${pointer}/terms/${index}`));
}

function termFaults({ op = '=', property, tag, rel, value }: Term, kind: string, pointer: string): FieldFault[] {
  const faults: FieldFault[] = [];
  const compared = [property, tag, rel].filter((one) => one !== undefined);
  if (compared.length !== 1) faults.push({ pointer, reason: 'requires exactly one of property, tag and rel' });
  const isValueless = op === 'exists' || op === '!exists';
  if (!isValueless && value === undefined) faults.push({ pointer: `${pointer}/value`, reason: 'is required' });
  if (rel === undefined) return faults;
  const known = RELATIONS[kind];
  if (rel !== known)
    faults.push({ pointer: `${pointer}/rel`, reason: known ? `must be ${known}` : 'is not known here' });
  if (op !== '=' && op !== '!=') faults.push({ pointer: `${pointer}/op`, reason: 'must be = or != for a relation' });
  return faults;
}

/** By kind; all other kinds have none. */
const RELATIONS: Readonly<Record<string, string | undefined>> = { user: 'group', group: 'member' };
