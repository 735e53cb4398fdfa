import type { FieldFault } from '../contract/errors.js';

/** A failure that the client foresees. Its message is for people. */
export class ClientError extends Error {
  override readonly name: string = 'ClientError';
}

/** The caller's signal ended the call. */
export class Interrupted extends ClientError {
  override readonly name = 'Interrupted';

  constructor() {
    super('interrupted');
  }
}

/**
 * Why there is no response: no such host, nothing listens, no way there, the connection ended too soon, the certificate is
 * not trusted, what came back is not HTTP or not JSON, or anything else.
 */
export type ConnectionFault =
  | 'unknown-host'
  | 'refused'
  | 'unreachable'
  | 'cut'
  | 'late'
  | 'untrusted'
  | 'not-http'
  | 'not-json'
  | 'other';

/** The service could not be reached, or what answered is not the service. */
export class ConnectionError extends ClientError {
  override readonly name = 'ConnectionError';

  constructor(
    message: string,
    readonly fault: ConnectionFault,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Why the spool did not do what was asked: it has its `maxBytes`, the disk is full or fails, another process has the folder, the
 * client is closed or has no spool, the event is larger than the service takes, the event or a setting is wrong, or a flush took
 * too long.
 */
export type SpoolFault =
  | 'full'
  | 'disk-full'
  | 'disk'
  | 'locked'
  | 'closed'
  | 'none'
  | 'too-large'
  | 'invalid'
  | 'late';

/** Nothing was recorded; with the fault `late`, events wait in the spool. */
export class SpoolError extends ClientError {
  override readonly name = 'SpoolError';

  constructor(
    readonly fault: SpoolFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The Error body of the service, as far as the response had one. */
export interface ErrorBody {
  status: number;
  message: string;
  code?: string;
  id?: string;
  details?: { fields?: FieldFault[] } & Record<string, unknown>;
}

/** The service refused the call. */
export class ApiError extends ClientError {
  override readonly name = 'ApiError';

  constructor(
    readonly body: ErrorBody,
    readonly retryAfterMs?: number,
  ) {
    super(describe(body));
  }
}

/** `message (code, request id)`, without the parts that the body does not have. */
export function describe(body: ErrorBody): string {
  const origin = [body.code, body.id && `request ${body.id}`].filter(Boolean).join(', ');
  return origin ? `${body.message} (${origin})` : body.message;
}
