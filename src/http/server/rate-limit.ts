import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance } from 'fastify';
import { ControlError } from '../../contract/errors.js';

/**
 * Holds every organization to its share of this process: so many requests in each second, then 429 with `Retry-After`.
 * Counted per process, after the key was checked and before the body is read; requests without an organization are not
 * counted. Call it before the routes are made.
 */
export async function limitRate(server: FastifyInstance, perSecond: number): Promise<void> {
  if (perSecond === 0) return;
  await server.register(rateLimit, {
    max: perSecond,
    timeWindow: 1_000,
    hook: 'preParsing',
    keyGenerator: ({ principal }) => principal?.org ?? '',
    allowList: ({ principal }) => principal === null,
    errorResponseBuilder: () =>
      new ControlError('rate_limited', `an organization may send ${perSecond} requests a second to this process`),
  });
}
