import type { FastifyRequest } from 'fastify';
import { ControlError, ERRORS, validationFailed } from '../../contract/errors.js';
import { SAFE_HEADERS } from '../server/safe-headers.js';
import { codeOfStatus, retryAfter, STATUSES } from './statuses.js';

/** The Error body of the specification. */
export interface ErrorBody {
  readonly status: number;
  readonly message: string;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** The request's id, also in the `x-request-id` header and in the log. */
  readonly id: string;
}

/** How a route of another protocol refuses, in place of the Error body. Headers that it does not have are the usual ones. */
export type RefusalAs = (error: ErrorBody, request: FastifyRequest) => Refusal;

interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

export function errorBody(error: ControlError, requestId: string): ErrorBody {
  const { code, message, details } = error;
  return { status: STATUSES[code], message, code, details, id: requestId };
}

export function errorHeaders({ code, details }: ControlError): Record<string, string> {
  const seconds = details.retryAfterSeconds ?? retryAfter(code);
  return {
    ...SAFE_HEADERS,
    'content-type': 'application/json; charset=utf-8',
    ...(seconds !== undefined && { 'retry-after': String(seconds) }),
    ...(code === 'unauthenticated' && { 'www-authenticate': 'Bearer' }),
  };
}

/** The catalogue's error for whatever was thrown. What nobody foresaw is `internal`, and its text stays in the log. */
export function toControlError(thrown: unknown): ControlError {
  if (thrown instanceof ControlError) return thrown;
  const status = statusOf(thrown);
  if (status === undefined || status >= 500) {
    return new ControlError(
      'internal',
      'the service failed; report this request id to the operator',
      {},
      { cause: thrown },
    );
  }
  if ((thrown as { code?: unknown }).code === 'FST_ERR_BAD_URL') {
    return validationFailed([{ pointer: 'path', reason: 'is not valid percent-encoded UTF-8' }]);
  }
  const code = codeOfStatus(status);
  const message = status === 404 ? 'no such route exists' : ERRORS[code].when;
  return new ControlError(code, message, {}, { cause: thrown });
}

/** Frameworks carry the status in one of these. */
function statusOf(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error)) return undefined;
  if ('getStatus' in thrown && typeof thrown.getStatus === 'function') return Number(thrown.getStatus());
  if ('statusCode' in thrown && typeof thrown.statusCode === 'number') return thrown.statusCode;
  return undefined;
}
