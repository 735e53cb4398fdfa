import type { FastifyRequest } from 'fastify';
import type { Standing } from '../control/authority-check.js';
import type { Caller } from '../control/fold.js';
import type { Publication } from '../model/audit-event.js';
import type { Authority } from '../model/authority.js';
import { publisherOf, ROOT_KEY_ID } from '../model/publisher.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller's address, taken when the request came: a connection that was closed meanwhile has none any more. */
    remoteIp: string;
  }
}

/** Who asks, for the record of a change. */
export function callerOf(request: FastifyRequest): Caller {
  const { id: requestId, principal, remoteIp } = request;
  if (!principal) return { name: 'root', keyId: ROOT_KEY_ID, requestId, remoteIp };
  const { name, email, link, keyId } = principal;
  return { name, ...(email !== undefined && { email }), link, keyId, requestId, remoteIp };
}

/** What the access of the request's principal rests on. */
export function standingOf({ standing }: FastifyRequest): Standing {
  if (!standing) throw new Error('the route asks for no principal');
  return standing;
}

/** What a change rests on, to be judged with it; undefined for the root key, which nothing revokes. */
export function authorityOf(request: FastifyRequest): Authority | undefined {
  return request.routeOptions.config.access === 'root' ? undefined : standingOf(request).authority;
}

/** What a published event takes from its request: its publisher, and defaults. */
export function publicationOf(request: FastifyRequest): Omit<Publication, 'id' | 'postedTime' | 'contextName'> {
  const { id: requestId, principal, remoteIp } = request;
  if (!principal) throw new Error('only a principal of an organization publishes');
  return {
    org: principal.org,
    remoteIp,
    requestId,
    publisher: publisherOf(principal, remoteIp),
    subject: {
      name: principal.name,
      ...(principal.email !== undefined && { email: principal.email }),
      data: { link: principal.link },
    },
  };
}

/** A trusted proxy may pass on whatever its client wrote, of any length. */
const LONGEST_ADDRESS = 64;

/**
 * The caller's address; `unknown` when the connection was reset before the request was looked at. A socket for both
 * versions of IP writes those of version 4 as `::ffff:192.0.2.1`.
 */
export function addressOf(request: FastifyRequest): string {
  const ip: string | undefined = request.ip;
  return ip?.replace(/^::ffff:(?=\d+\.)/, '').slice(0, LONGEST_ADDRESS) ?? 'unknown';
}
