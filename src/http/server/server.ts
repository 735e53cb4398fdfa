import { type IncomingMessage, METHODS, type ServerOptions } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  type FastifyHttpOptions,
  type FastifyInstance,
  type HTTPMethods,
  LogController,
  type RawServerDefault,
} from 'fastify';
import type { Logger } from 'pino';
import { ControlError } from '../../contract/errors.js';
import { LIMITS } from '../../contract/limits.js';
import type { Config } from '../../platform/config/config.js';
import type { Ids } from '../../platform/ids.js';
import { Turns } from '../../platform/turns.js';
import { type AccessCheck, requireAccess } from '../access.js';
import { addressOf } from '../caller.js';
import type { ErrorFilter } from '../errors/filter.js';
import { addBodyParsers } from './body-parsers.js';
import { type Cors } from './cors.js';
import { ambiguousFraming, refusedCharset } from './framing.js';
import { keepOutOfFrames, SAFE_HEADERS } from './safe-headers.js';
import { withLowerCaseIds, withoutTrailingSlash } from './spelling.js';
import { secureOptions } from './tls.js';
import { refusedEncoding } from './unpacked.js';
import { refuseUnparsed } from './unparsed.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the connection is closed after the response. */
    endsConnection: boolean;
  }
}

/** A name of 1,024 characters of four bytes each, percent-encoded, and some filters beside it. */
const MAX_HEADER_BYTES = 64 * 1024;
const MAX_PARAM_LENGTH = 16 * 1024;

const HEADERS_MS = 10_000;

/** After this time, a client that reads nothing of its response is disconnected. */
const STALLED_MS = 60_000;

const NODE_OPTIONS: ServerOptions = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: HEADERS_MS,
  connectionsCheckingInterval: 2_000,
  // Checked with the other headers, and answered with the Error body.
  requireHostHeader: false,
};

/** Fastify, configured so that its own error responses also have the Error body. */
export function fastifyAdapter(config: Config, logger: Logger, ids: Ids, errors: ErrorFilter): FastifyAdapter {
  const options: FastifyHttpOptions<RawServerDefault> & { skipMiddie: boolean } = {
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    rewriteUrl: ({ url = '' }) => withoutTrailingSlash(url),
    trustProxy: config.trustedProxies.length > 0 ? [...config.trustedProxies] : false,
    genReqId: (request) => requestId(request, ids),
    connectionTimeout: STALLED_MS,
    requestTimeout: 30_000,
    // While the process stops, the gate answers, with the Error body.
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => refuseUnparsed(error, socket, ids),
    keepAliveTimeout: 75_000,
    bodyLimit: LIMITS.bodyBytes,
    ...(config.tls ? { https: { ...NODE_OPTIONS, ...secureOptions(config.tls) } } : { http: NODE_OPTIONS }),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    frameworkErrors: (error, request, reply) => errors.send(error, request, reply),
    skipMiddie: true,
  };
  // The adapter's own options type leaves open which of Node's servers it is; this is HTTP/1.1.
  return new FastifyAdapter(options as ConstructorParameters<typeof FastifyAdapter>[0]) as FastifyAdapter;
}

/** A caller's own id is taken up where it can stand in a header and a log line as it is. */
function requestId(request: IncomingMessage, ids: Ids): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : ids.next();
}

export interface Gate {
  /** Why requests are not served at the moment, or undefined. */
  closedBecause(): string | undefined;
  /** Whether connections are closed after their next response. */
  readonly isStopping: boolean;
}

/**
 * What happens to every request before its handler: call it before the routes are made. Answers the routes that will
 * have been made, with their methods.
 */
export function prepareServer(
  server: FastifyInstance,
  access: AccessCheck,
  gate: Gate,
  turns = new Turns(),
  cors?: Cors,
): ReadonlyMap<string, Set<string>> {
  const routes = new Map<string, Set<string>>();
  // A client may close its side after its last request: it still gets its response. Not in Node's types.
  Object.assign(server.server, { httpAllowHalfOpen: true });
  server.decorateRequest('principal', null);
  server.decorateRequest('reach', 'all');
  server.decorateRequest('standing', null);
  server.decorateRequest('missing', null);
  server.decorateRequest('remoteIp', '');
  server.decorateRequest('endsConnection', false);
  server.decorateRequest('sentType', '');
  server.decorate('access', access);
  server.addHook('onRoute', (route) => {
    requireAccess(route);
    if (route.config?.maxBytes !== undefined) route.bodyLimit = route.config.maxBytes;
    const methods = routes.get(route.url) ?? new Set();
    for (const method of [route.method].flat()) methods.add(method);
    routes.set(route.url, methods);
  });
  // Node would refuse expectations other than `100-continue` by itself; a server may ignore them.
  server.server.on('checkExpectation', (asked, answer) => server.server.emit('request', asked, answer));
  server.addHook('onRequest', (request, reply, done) => {
    reply.headers(SAFE_HEADERS).header('x-request-id', request.id);
    request.remoteIp = addressOf(request);
    withLowerCaseIds(request.params);
    cors?.allow(request, reply);
    const ambiguity = ambiguousFraming(request);
    request.endsConnection = ambiguity !== undefined;
    if (ambiguity) return done(ambiguity);
    if (request.is404) return done(new ControlError('not_found', 'no such route exists'));
    // Public routes report on the process itself, so they respond in any state.
    const { access, whileUnready = false } = request.routeOptions.config;
    const open = access === 'public' || (whileUnready && !gate.isStopping);
    const reason = open ? undefined : gate.closedBecause();
    if (reason !== undefined) return done(new ControlError('not_ready', reason));
    done(refusedEncoding(request) ?? refusedCharset(request));
  });
  server.addHook('onRequest', access.hook);
  server.addHook('preHandler', access.hookAgain);
  server.addHook('onSend', access.noteDenied);
  server.addHook('onSend', (request, reply, _payload, done) => {
    if (gate.isStopping || request.endsConnection) reply.header('connection', 'close');
    keepOutOfFrames(reply);
    done();
  });
  addBodyParsers(server, turns);
  return routes;
}

/** All that Node parses; CONNECT asks for a tunnel, not for a path. */
const ALL_METHODS = METHODS.filter((method) => method !== 'CONNECT') as HTTPMethods[];

/** Refuses with 405 and `Allow` if a path exists and the method does not: call it after the routes are made. With CORS, OPTIONS has an answer. */
export function refuseOtherMethods(
  server: FastifyInstance,
  routes: ReadonlyMap<string, ReadonlySet<string>>,
  cors?: Cors,
): void {
  for (const method of ALL_METHODS) {
    if (!server.supportedMethods.includes(method)) server.addHttpMethod(method);
  }
  for (const [url, allowed] of [...routes]) {
    const others = ALL_METHODS.filter((method) => !allowed.has(method));
    const allow = [...allowed, ...(cors ? ['OPTIONS'] : [])].sort().join(', ');
    server.route({
      url,
      method: others,
      config: { access: 'public' },
      // Before the body is read: it does not matter what it would say.
      onRequest: (request, reply, done) => {
        reply.header('allow', allow);
        if (cors && request.method === 'OPTIONS') return cors.answerOptions(request, reply, allow);
        done(new ControlError('method_not_allowed', `this path does not support the method; it supports ${allow}`));
      },
      handler: (_request, reply) => reply,
    });
  }
}
