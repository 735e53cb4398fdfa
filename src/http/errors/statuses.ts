import type { ErrorCode } from '../../contract/errors.js';

/** The HTTP status of every error code: assigned here and nowhere else. */
export const STATUSES: Readonly<Record<ErrorCode, number>> = {
  validation_failed: 400,
  malformed_json: 400,
  malformed_encoding: 400,
  malformed_protobuf: 400,
  invalid_cursor: 400,
  page_too_deep: 400,
  builtin_tag: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  already_exists: 409,
  conflict: 409,
  idempotency_conflict: 409,
  quota_exceeded: 409,
  builtin_resource: 409,
  not_integrated: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  headers_too_large: 431,
  too_costly: 422,
  rate_limited: 429,
  dead_lettered: 500,
  internal: 500,
  mail_failed: 502,
  log_unavailable: 503,
  read_model_unavailable: 503,
  outcome_unknown: 503,
  state_unconfirmed: 503,
  not_ready: 503,
  not_sealed: 503,
  too_many_connections: 503,
};

/** Seconds after which a refused request may be tried again. */
export function retryAfter(code: ErrorCode): number | undefined {
  return STATUSES[code] === 503 || STATUSES[code] === 429 || code === 'not_integrated' ? 1 : undefined;
}

/** The code of an error that a library reports by its status alone. */
export function codeOfStatus(status: number): ErrorCode {
  switch (status) {
    case 401:
      return 'unauthenticated';
    case 403:
      return 'forbidden';
    case 404:
      return 'not_found';
    case 405:
      return 'method_not_allowed';
    case 408:
      return 'request_timeout';
    case 413:
      return 'payload_too_large';
    case 414:
      return 'uri_too_long';
    case 415:
      return 'unsupported_media_type';
    case 429:
      return 'rate_limited';
    case 431:
      return 'headers_too_large';
    default:
      return status >= 400 && status < 500 ? 'validation_failed' : 'internal';
  }
}
