import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ControlError } from '../../contract/errors.js';
import { parseJson } from '../json/parse.js';

/**
 * What becomes of a request's body by its `Content-Type`: JSON a `JsonDocument`, and what a route parses itself its bytes.
 * Where a request needs no body, an empty one is none, whatever type it is said to be of: many clients name one always.
 */
export function addBodyParsers(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer;
    if (bytes.length === 0 && needsNoBody(request)) return done(null);
    if (request.routeOptions.config.unparsed) return done(null, { type: 'json', bytes });
    try {
      done(null, parseJson(bytes));
    } catch (error) {
      done(error as Error);
    }
  });
  server.addContentTypeParser('application/x-ndjson', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer;
    if (bytes.length === 0 && needsNoBody(request)) return done(null);
    done(null, { type: 'ndjson', bytes });
  });
  server.addContentTypeParser('*', (request, _stream, done) => {
    if (isEmpty(request) && needsNoBody(request)) return done(null);
    done(
      new ControlError('unsupported_media_type', 'this route does not accept this Content-Type; send application/json'),
    );
  });
}

function needsNoBody({ method, routeOptions }: FastifyRequest): boolean {
  return method === 'DELETE' || routeOptions.config.bodyOptional === true;
}

/** As its head says, before anything of the body is read. */
function isEmpty({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
}
