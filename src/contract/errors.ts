import { LIMITS } from './limits.js';

const [KIB, MIB] = [1024, 1024 * 1024];
const numeral = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',');

/**
 * The error catalogue: every error a caller can see has one code here. The HTTP status of a code is assigned in
 * `http/statuses.ts`; `docs/errors.md` is generated from both.
 */
export const ERRORS = {
  validation_failed: {
    when: 'A field, parameter or header is missing, unknown or has a value that is not allowed.',
    remedy: 'Correct every fault in `details.fields`. Each has a JSON pointer to its field, and the reason.',
  },
  malformed_json: {
    when: `The body is not valid JSON in UTF-8, has a duplicate member, or is nested deeper than ${LIMITS.depth} levels.`,
    remedy: 'Send one JSON document (RFC 8259) with unique member names. `details` has the position of the fault.',
  },
  malformed_encoding: {
    when: 'The body is not what its `Content-Encoding` says: it is cut off, damaged or packed otherwise. Nothing was recorded.',
    remedy: 'Send the body whole, packed once by the method that the header names.',
  },
  malformed_protobuf: {
    when: 'The body is no `ExportLogsServiceRequest` of OTLP in protobuf. Nothing was recorded.',
    remedy: 'Send OTLP logs with `Content-Type: application/x-protobuf`, or in JSON with `application/json`.',
  },
  invalid_cursor: {
    when: 'The `cursor` does not belong to this list with these filters.',
    remedy: 'Use the `next` link unchanged, or start again without `cursor`.',
  },
  page_too_deep: {
    when: `\`page\` and \`pageSize\` go beyond the first ${numeral(LIMITS.pagedEvents)} events.`,
    remedy: 'Follow the `next` links. They have no depth limit.',
  },
  builtin_tag: {
    when: 'The request sets, changes or removes a tag that begins with `svc/`.',
    remedy: 'Leave these tags unchanged. Only the service sets them.',
  },
  unauthenticated: {
    when: 'The `Authorization` header is missing or malformed, or its key is unknown, expired or revoked.',
    remedy: 'Send `Authorization: Bearer <key>`, or `Basic` with the key as password, with a valid key.',
  },
  forbidden: {
    when: 'The key is valid but lacks a permission; the message names it. For a change that would grant a permission that the caller lacks, `details.missing` has it too. The response is the same whether the organization or the resource exists or not.',
    remedy: 'Use a key that has the permission, or ask somebody in the organization who has it.',
  },
  not_found: {
    when: 'No such route exists, or no such resource exists in this organization.',
    remedy: 'Check the path and the identifier.',
  },
  method_not_allowed: {
    when: 'The path exists but does not support the method.',
    remedy: 'Use a method from the `Allow` header.',
  },
  already_exists: {
    when: 'A resource with this name exists. Names of domains are unique in the whole service: it can belong to another organization.',
    remedy: 'Choose another name, or read the existing resource.',
  },
  conflict: {
    when: 'The current state does not allow the change, the resource kept changing, or the change affects more groups and policies than one record can hold.',
    remedy: 'Follow the message, or read the resource again and repeat the change.',
  },
  quota_exceeded: {
    when: 'The organization has reached its quota for this kind of resource. The message names the quota and its setting.',
    remedy: 'Delete some resources if possible, or ask the operator to raise the quota.',
  },
  builtin_resource: {
    when: 'The change would delete or disable something that every organization needs: a built-in group or policy, or the last superuser.',
    remedy: 'Leave it unchanged. Add another superuser before you remove one.',
  },
  precondition_failed: {
    when: '`If-Match`, or the `version` in the body, differs from the current version of the resource.',
    remedy: 'Read the resource again and repeat the change with its `ETag`.',
  },
  idempotency_conflict: {
    when: 'The `Idempotency-Key` was already used with another body (control resources: within 24 hours).',
    remedy: 'Use a new key for a new request. Repeat the first body to get the first response.',
  },
  payload_too_large: {
    when: `The body exceeds ${LIMITS.bodyBytes / KIB} KiB (one event), ${LIMITS.bulkBytes / MIB} MiB or ${numeral(LIMITS.bulkEvents)} events (bulk), or ${LIMITS.ingest.bytes / MIB} MiB or ${numeral(LIMITS.ingest.lines)} lines, unpacked (ingest), or a record exceeds the limit of the log.`,
    remedy: 'Send smaller events, or fewer at once.',
  },
  uri_too_long: {
    when: 'The request line or a path parameter exceeds its limit.',
    remedy: 'Shorten the path. To list by a long name, use a filter.',
  },
  unsupported_media_type: {
    when: 'The route does not support the `Content-Type` or `Content-Encoding`.',
    remedy:
      'Send `application/json` (bulk: also `application/x-ndjson`) without compression. Ways in for shippers take any type, and `gzip`, `zstd` and `deflate`.',
  },
  request_timeout: {
    when: 'The complete request did not arrive in time.',
    remedy: 'Send it again over a faster connection, or in smaller parts.',
  },
  headers_too_large: {
    when: 'The request headers exceed their limit.',
    remedy: 'Send fewer or shorter headers.',
  },
  too_costly: {
    when: 'The request needs more processing time than `CONTROL_REQUEST_BUDGET_MS`, or its response would exceed its limit.',
    remedy: 'Ask for less, as the message suggests: a shorter time range, an indexed filter, fewer terms.',
  },
  rate_limited: {
    when: 'A limit of this process was reached: requests a second of the organization (`CONTROL_RATE_LIMIT`), waiting large reads (`CONTROL_READS_PER_ORG`), bytes of request bodies in progress (`CONTROL_MEMORY_MIB`), or unknown keys and codes from one address (`CONTROL_BAD_KEYS_PER_MINUTE`). In `errors` of a response to `-invite`: the mail limit of the address (`CONTROL_MAIL_PER_ADDRESS`) or of the organization (`CONTROL_MAIL_PER_ORG`); nothing is recorded for that address.',
    remedy:
      'Retry after `Retry-After` seconds (mail: `details.retryAfterSeconds`). Publish in bulk, complete open reads before you start new ones, check the key.',
  },
  too_many_connections: {
    when: 'The process has reached its limit of busy connections, in all (`CONTROL_MAX_CONNECTIONS`) or from this address (`CONTROL_MAX_CONNECTIONS_PER_ADDRESS`). The connection is closed.',
    remedy: 'Retry after `Retry-After` seconds, with fewer connections.',
  },
  log_unavailable: {
    when: 'The log cannot accept the record: it is down, out of space, or its queue is full. Nothing was recorded.',
    remedy: 'Retry after `Retry-After` seconds, with an `Idempotency-Key`.',
  },
  read_model_unavailable: {
    when: 'The read model is down, or too slow for this request. Recording still works.',
    remedy: 'Retry after `Retry-After` seconds. No event is lost.',
  },
  mail_failed: {
    when: 'The invitation is recorded, but its mail could not be sent. `details.invitation` is its link. Only in `errors` of a response to `-invite`.',
    remedy:
      'Invite the address again, which creates a new code, or delete the invitation. The log of the service has the cause.',
  },
  not_integrated: {
    when: 'No published checkpoint covers the event or the organization yet.',
    remedy: 'Retry after `Retry-After` seconds. Checkpoints follow every few seconds while there is something new.',
  },
  not_sealed: {
    when: 'The service has stopped sealing its log: the log is not what was sealed before, or the key that signs checkpoints is missing. The message says why. Events are recorded and served, without proofs.',
    remedy: 'Report it to the operator: docs/operating.md, "When nothing is sealed any more".',
  },
  outcome_unknown: {
    when: 'The log did not confirm the record in time. If it was recorded, its identifier is `details.id`. Of a bulk with `partial=false`, some items may be recorded, and of what a shipper sends, some lines.',
    remedy:
      'Retry with the same `Idempotency-Key`, or read that identifier. The same bulk with the same keys completes it.',
  },
  state_unconfirmed: {
    when: 'The process cannot confirm that its keys and permissions are up to date.',
    remedy: 'Retry after `Retry-After` seconds.',
  },
  not_ready: {
    when: 'The process is starting or stopping. `details` says what is missing.',
    remedy: 'Retry after `Retry-After` seconds, or at another instance.',
  },
  dead_lettered: {
    when: 'The event is in the log but cannot be indexed. It was moved to the dead letters.',
    remedy: 'Report the request id to the operator. The event is kept.',
  },
  internal: {
    when: 'The service failed. Its log has the cause under the request id.',
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
