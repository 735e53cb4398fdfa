import { isUtf8 } from 'node:buffer';
import type { FastifyRequest } from 'fastify';
import type { Publication } from '../model/audit-event.js';
import type { Caller } from '../model/control-fold.js';

/** Who asks, for the record of a change. */
export function callerOf(request: FastifyRequest): Caller {
  const { id: requestId, ip: remoteIp, principal } = request;
  if (!principal) return { name: 'root', requestId, remoteIp };
  return { name: principal.name, link: principal.link, requestId, remoteIp };
}

/** The defaults that a published event takes from its request. */
export function publicationOf(request: FastifyRequest): Omit<Publication, 'id' | 'postedTime' | 'contextName'> {
  const { id: requestId, ip: remoteIp, principal } = request;
  if (!principal) throw new Error('only a principal of an organization publishes');
  return {
    org: principal.org,
    remoteIp,
    requestId,
    subject: { name: principal.name, data: { link: principal.link } },
  };
}

/** A header that may be any text: Node reads its bytes as Latin-1, clients write UTF-8. */
export function textHeaderOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  if (typeof value !== 'string') return value?.join(', ');
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : value;
}
