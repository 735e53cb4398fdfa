import type { FastifyReply, FastifyRequest } from 'fastify';

/** Headers of requests that pages may send, and of responses that they may read, besides those that are always allowed. */
const SENT = [
  'authorization',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'prefer',
  'x-request-id',
];
const READ = ['allow', 'etag', 'link', 'location', 'preference-applied', 'retry-after', 'x-request-id'];

const PREFLIGHT_SECONDS = 600;

/**
 * Lets web pages of some origins call the API (the CORS protocol of the Fetch standard). Keys travel in a header that a page
 * sets itself, never in cookies, so credentials are not allowed.
 */
export class Cors {
  private readonly any: boolean;

  constructor(private readonly origins: readonly string[]) {
    this.any = origins.includes('*');
  }

  /** Marks a response, also of an error, as readable by the page that asked, if its origin is allowed. */
  allow({ headers: { origin } }: FastifyRequest, reply: FastifyReply): void {
    if (!this.any) reply.header('vary', 'origin');
    if (origin === undefined || !(this.any || this.origins.includes(origin))) return;
    reply.header('access-control-allow-origin', this.any ? '*' : origin);
    reply.header('access-control-expose-headers', READ.join(', '));
  }

  /** What a path takes, and what a page may send there if its origin is allowed. */
  answerOptions({ headers }: FastifyRequest, reply: FastifyReply, methods: string): void {
    if (headers['access-control-request-method'] !== undefined && reply.hasHeader('access-control-allow-origin')) {
      reply.header('access-control-allow-methods', methods);
      reply.header('access-control-allow-headers', SENT.join(', '));
      reply.header('access-control-max-age', PREFLIGHT_SECONDS);
    }
    reply.code(204).send();
  }
}
