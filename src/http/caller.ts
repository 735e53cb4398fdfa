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

/** The one value of a header that may stand once. */
export function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}
