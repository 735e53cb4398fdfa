import type { FastifyRequest } from 'fastify';
import { validationFailed } from '../../contract/errors.js';
import type { Precondition } from '../../model/precondition.js';

/**
 * What `If-Match` (RFC 9110 section 13.1.1) asks for: one entity tag as the service gives them, or `*`; else the version
 * in the body. Throws `validation_failed`.
 */
export function preconditionOf(request: FastifyRequest, version?: number): Precondition | undefined {
  const header = request.headers['if-match'];
  if (header === undefined) return version;
  if (header.trim() === '*') return '*';
  const tag = /^\s*"?([0-9]{1,15})"?\s*$/.exec(header)?.[1];
  if (tag !== undefined) return Number(tag);
  throw validationFailed([
    { pointer: 'header:If-Match', reason: 'must be one ETag of the resource, such as "3", or *' },
  ]);
}

export function entityTag(version: number): string {
  return `"${version}"`;
}
