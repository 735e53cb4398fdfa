import type { FastifyBodyParser, FastifyInstance, FastifyRequest } from 'fastify';
import { ControlError } from '../../contract/errors.js';
import type { Steps, Turns } from '../../platform/turns.js';
import { type JsonDocument, parseJson } from '../json/parse.js';
import { unpackBody } from './unpacked.js';

/** A body of more bytes is parsed when its organization has a turn: it can take 20 ms. */
const SHORT_BYTES = 32 * 1024;

/**
 * What becomes of a request's body by its `Content-Type`: JSON a `JsonDocument`, and what a route parses itself its bytes.
 * Where a request needs no body, an empty one is none, whatever type it is said to be of: many clients name one always.
 */
export function addBodyParsers(server: FastifyInstance, turns: Turns): void {
  server.addHook('preParsing', unpackBody);
  server.removeAllContentTypeParsers();
  const json: FastifyBodyParser<string | Buffer> = (request, body, done) => {
    const bytes = body as Buffer;
    if (bytes.length === 0 && needsNoBody(request)) return done(null);
    const { unparsed, parse = parseJson } = request.routeOptions.config;
    if (unparsed) return done(null, { type: 'json', bytes });
    if (bytes.length > SHORT_BYTES) {
      const job = { org: request.principal?.org ?? '', beginsLong: true };
      turns.run(job, longParse(bytes, parse)).then((document) => done(null, document), done);
      return;
    }
    try {
      done(null, parse(bytes));
    } catch (error) {
      done(error as Error);
    }
  };
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, json);
  // RFC 7396: the type of a patch says how it is merged, and every PATCH is merged so.
  server.addContentTypeParser('application/merge-patch+json', { parseAs: 'buffer' }, (request, body, done) =>
    request.method === 'PATCH' ? json(request, body, done) : done(refusedType()),
  );
  server.addContentTypeParser('application/x-ndjson', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer;
    if (bytes.length === 0 && needsNoBody(request)) return done(null);
    const type = request.routeOptions.config.packed ? request.sentType : 'ndjson';
    done(null, { type, bytes });
  });
  server.addContentTypeParser('*', (request, _stream, done) => {
    if (isEmpty(request) && needsNoBody(request)) return done(null);
    done(refusedType());
  });
}

function refusedType(): ControlError {
  return new ControlError(
    'unsupported_media_type',
    'this route does not accept this Content-Type; send application/json',
  );
}

/** What comes next, the checks of what was parsed, is for another slice. */
function* longParse(bytes: Buffer, parse: (bytes: Buffer) => JsonDocument): Steps<JsonDocument> {
  const document = parse(bytes);
  yield;
  return document;
}

function needsNoBody({ method, routeOptions }: FastifyRequest): boolean {
  return method === 'DELETE' || routeOptions.config.bodyOptional === true;
}

/** As its head says, before anything of the body is read. */
function isEmpty({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
}
