import type { FastifyRequest } from 'fastify';
import { validationFailed } from '../../contract/errors.js';
import type { Change, Precondition } from '../../model/change.js';
import { isObject, type Json } from '../../model/json.js';
import { checkBody, checkQuery, noParameters } from '../errors/request-faults.js';

/**
 * What `If-Match` (RFC 9110 section 13.1.1) asks for: one entity tag as the service gives them, or `*`.
 * Only its version counts: what else is in the tag of an audit context changes with every event. Throws `validation_failed`.
 */
export function preconditionOf(request: FastifyRequest): Precondition | undefined {
  const header = request.headers['if-match'];
  if (header === undefined) return undefined;
  if (header.trim() === '*') return '*';
  const tag = /^\s*"?([0-9]{1,15})(?:-[0-9]{1,15})?"?\s*$/.exec(header)?.[1];
  if (tag !== undefined) return Number(tag);
  throw validationFailed([
    { pointer: 'header:If-Match', reason: 'must be one ETag of the resource, such as "3", or *' },
  ]);
}

/** PATCH merges the body into the resource, PUT replaces it. Throws `validation_failed` for a body that is no object. */
export function changeOf(request: FastifyRequest, how: Change['how']): Change {
  checkQuery(noParameters, request);
  const body = checkBody<Json>(
    (value) => (isObject(value) ? [] : [{ pointer: '', reason: 'must be an object' }]),
    request.body,
  );
  const expected = preconditionOf(request);
  return { how, body, ...(expected !== undefined && { expected }) };
}

/**
 * Whether a GET names this tag in `If-None-Match` (RFC 9110 section 13.1.2), so that the caller has the resource. Tags
 * are compared weakly: proxies that compress answers mark them as weak.
 */
export function isKnownTag({ headers }: FastifyRequest, known: string): boolean {
  const given = headers['if-none-match'];
  if (given === undefined) return false;
  return given.split(',').some((tag) => ['*', known].includes(tag.trim().replace(/^W\//, '')));
}

/** `count`: of what the resource shows beside its version. */
export function entityTag(version: number, count?: number): string {
  return count === undefined ? `"${version}"` : `"${version}-${count}"`;
}
