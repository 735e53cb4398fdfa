import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ControlError } from '../../contract/errors.js';
import type { Metrics } from '../../platform/metrics.js';
import { errorBody, errorHeaders, toControlError } from './body.js';

/** The permission that a refused caller lacks; it is recorded for auditors. */
function missingOf({ code, details }: ControlError): FastifyRequest['missing'] {
  if (code !== 'forbidden') return null;
  return (details as { readonly missing?: FastifyRequest['missing'] }).missing ?? null;
}

/** Sends the response for every error of a request. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly metrics: Metrics) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.send(thrown, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  send(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const error = toControlError(thrown);
    const body = errorBody(error, request.id);
    this.metrics.rejected(error.code);
    // The access check may have set it already.
    request.missing ??= missingOf(error);
    // A probe asks again and again, and is told why; what fails is logged by whoever tries it.
    if (body.status >= 500 && error.code !== 'not_ready')
      request.log.error({ err: error, code: error.code }, 'request failed');
    if (reply.sent) return;
    reply.header('x-request-id', request.id);
    // Fastify gives up the connection when it refuses a body. A client that is still sending would get a reset in place
    // of the answer: the rest of the body is thrown away instead, for as long as a request may take.
    reply.removeHeader('connection');
    // Of a stream that failed before its first byte.
    reply.removeHeader('content-encoding');
    reply.code(body.status).headers(errorHeaders(error));
    const refusal = request.routeOptions?.config.refusalAs?.(body, request);
    if (!refusal) return void reply.send(JSON.stringify(body));
    reply.code(refusal.status).headers(refusal.headers).send(refusal.body);
  }
}
