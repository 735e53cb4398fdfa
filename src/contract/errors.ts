import { LIMITS } from './limits.js';

const [KIB, MIB] = [1024, 1024 * 1024];
const numeral = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',');

/**
 * The error catalogue: every error a caller can see has one code here. The HTTP status of a code is assigned in
 * `http/statuses.ts`; `docs/errors.md` is generated from both.
 */
export const ERRORS = {
  validation_failed: {
    when: 'The request names a field, parameter or header that is missing, unknown or not allowed.',
    remedy: 'Correct every fault listed in `details.fields`; each names its place as a JSON pointer and the reason.',
  },
  malformed_json: {
    when: `The body is not JSON in UTF-8, repeats a member name, or nests deeper than ${LIMITS.depth} levels.`,
    remedy: 'Send one well-formed JSON document (RFC 8259, unique names); `details` names the place.',
  },
  invalid_cursor: {
    when: 'The `cursor` was not made by this service for this list and these filters.',
    remedy: 'Follow the `next` link as it is, or start again without `cursor`.',
  },
  page_too_deep: {
    when: `\`page\` and \`pageSize\` reach past the first ${numeral(LIMITS.pagedEvents)} events.`,
    remedy: 'Follow the `next` links: their cursor has no depth limit.',
  },
  builtin_tag: {
    when: 'The request sets, changes or removes a tag beginning with `svc/`.',
    remedy: 'Leave such tags alone: the service sets them.',
  },
  unauthenticated: {
    when: 'The `Authorization` header is missing, malformed, or carries a key that is unknown, revoked or expired.',
    remedy: 'Send `Authorization: Bearer <key>` with a valid key.',
  },
  forbidden: {
    when: 'The key is valid, but may not do this here, or the change would give somebody a permission that the caller lacks: `details.missing` names it. The answer is the same whether the organization exists or not.',
    remedy:
      'Use a key of this organization with the permission that the operation needs, or ask somebody who holds it.',
  },
  not_found: {
    when: 'There is no such route, or no such resource in this organization.',
    remedy: 'Check the path and the identifier.',
  },
  method_not_allowed: {
    when: 'The path exists, the method does not.',
    remedy: 'Use a method of the `Allow` header.',
  },
  already_exists: {
    when: 'A resource of that name exists.',
    remedy: 'Choose another name, or read the existing resource.',
  },
  conflict: {
    when: 'Concurrent changes kept winning, or the current state does not allow the change, or the change would take along more groups and policies than one record holds.',
    remedy: 'Do what the message says; or read the resource again and repeat the change.',
  },
  quota_exceeded: {
    when: 'The organization has as many resources of this kind as it may have; the message names the limit and its setting.',
    remedy: 'Delete some, where that is possible, or have the operator raise the limit.',
  },
  builtin_resource: {
    when: 'The change would delete or hollow out what every organization has: a built-in group or policy, the last superuser.',
    remedy: 'Leave it as it is; add another superuser before removing one.',
  },
  precondition_failed: {
    when: '`If-Match`, or the `version` in the body, is not the version that the resource has.',
    remedy: 'Read the resource again, and repeat the change with its `ETag`.',
  },
  idempotency_conflict: {
    when: 'The `Idempotency-Key` was used before with another body (control resources: within 24 hours).',
    remedy: 'Use a new key for a new request; repeat the first body to get the first answer.',
  },
  payload_too_large: {
    when: `The body is larger than ${LIMITS.bodyBytes / KIB} KiB (one event) or ${LIMITS.bulkBytes / MIB} MiB or ${numeral(LIMITS.bulkEvents)} events (bulk), or a record is larger than the log takes.`,
    remedy: 'Send smaller events, or fewer at once.',
  },
  uri_too_long: {
    when: 'The request line or a path parameter is longer than the service takes.',
    remedy: 'Shorten the path; list by a filter in place of a long path.',
  },
  unsupported_media_type: {
    when: 'The `Content-Type` or `Content-Encoding` is not one this route takes.',
    remedy: 'Send `application/json` (bulk: also `application/x-ndjson`), without compression.',
  },
  request_timeout: {
    when: 'The request did not arrive whole in time.',
    remedy: 'Send it again over a faster connection, or in smaller parts.',
  },
  headers_too_large: {
    when: 'The request headers are larger than the service takes.',
    remedy: 'Send fewer or shorter headers.',
  },
  too_costly: {
    when: 'The request needs more of the time that organizations share than `CONTROL_REQUEST_BUDGET_MS`, or its answer would be larger than one answer may be.',
    remedy: 'Ask for less, as the message says: narrower times, an indexed filter, fewer terms.',
  },
  rate_limited: {
    when: 'The organization sends more requests a second than `CONTROL_RATE_LIMIT` lets it, or has too many large reads waiting (`CONTROL_READS_PER_ORG`), at this process; or the key or invitation code is unknown, and more such have come from the address than `CONTROL_BAD_KEYS_PER_MINUTE` lets it. Each process counts for itself. In `errors` of an answer to `-invite`: the address (`CONTROL_MAIL_PER_ADDRESS`) or the organization (`CONTROL_MAIL_PER_ORG`) was sent as many letters as it may be; nothing is recorded for that address.',
    remedy:
      'Retry after `Retry-After` (of a letter: `details.retryAfterSeconds`) seconds. Publish in bulk; read what was asked for before asking for more; check the key.',
  },
  too_many_connections: {
    when: 'The process has as many connections as it may have, in all (`CONTROL_MAX_CONNECTIONS`) or from this address (`CONTROL_MAX_CONNECTIONS_PER_ADDRESS`), and works for all of them. The connection is closed.',
    remedy: 'Retry after `Retry-After` seconds, over fewer connections.',
  },
  log_unavailable: {
    when: 'The log cannot take the record now: it is down, out of space, or its bounded queue is full. Nothing was recorded.',
    remedy: 'Retry after `Retry-After` seconds, with an `Idempotency-Key`.',
  },
  read_model_unavailable: {
    when: 'What was recorded cannot be read at the moment: the read model is down, or slower than the request may take.',
    remedy: 'Retry after `Retry-After` seconds. Nothing is lost: events are recorded all the same.',
  },
  mail_failed: {
    when: 'The invitation is recorded, but its code could not be sent. `details.invitation` is its link. Only in `errors` of an answer to `-invite`.',
    remedy:
      'Invite the address again, which makes a new code, or delete the invitation. The log of the service tells why.',
  },
  outcome_unknown: {
    when: 'The log did not say in time whether it has the record. `details.id` is the identifier it has if it was recorded.',
    remedy: 'Retry with the same `Idempotency-Key`, or read the identifier.',
  },
  state_unconfirmed: {
    when: 'The process cannot confirm that its view of keys and permissions is recent.',
    remedy: 'Retry after `Retry-After` seconds.',
  },
  not_ready: {
    when: 'The process is starting or stopping; `details` says what is missing.',
    remedy: 'Retry after `Retry-After` seconds, or on another instance.',
  },
  dead_lettered: {
    when: 'The event is in the log but can never be indexed; it was moved to the dead letters.',
    remedy: 'Report the request id to the operator; the event is kept.',
  },
  internal: {
    when: 'A fault of the service. The log names it under the request id.',
    remedy: 'Report the request id to the operator.',
  },
} as const;

export type ErrorCode = keyof typeof ERRORS;

export interface FieldFault {
  /** JSON pointer (RFC 6901) into the body; `?name` for a query parameter, `header:name` for a header. */
  pointer: string;
  reason: string;
}

/** The one error type that crosses layers. `details` is shown to the caller: never put a secret in it. */
export class ControlError extends Error {
  override readonly name = 'ControlError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Every fault of a request at once: `details: {fields: [{pointer, reason}]}`. */
export function validationFailed(fields: readonly FieldFault[]): ControlError {
  const [first] = fields;
  const message =
    fields.length === 1 && first
      ? `${first.pointer || 'the body'} ${first.reason}`
      : `${fields.length} faults in the request; details.fields lists them`;
  return new ControlError('validation_failed', message, { fields });
}
