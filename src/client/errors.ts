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

class FaultError<Fault extends string> extends ClientError {
  readonly fault: Fault;

  constructor(fault: Fault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/** Why there is no way to the service, or no response in time. */
type NoAnswer = 'unknown-host' | 'refused' | 'unreachable' | 'cut' | 'late' | 'untrusted';

/** Or what came back is not HTTP or not JSON, or anything else. */
export type ConnectionFault = NoAnswer | 'not-http' | 'not-json' | 'other';

/** The service could not be reached, or what answered is not the service. */
export class ConnectionError extends FaultError<ConnectionFault> {
  override readonly name = 'ConnectionError';
}

/** The spool has its `maxBytes`, the disk is full or fails, or another process has the folder. */
type StorageFault = 'full' | 'disk-full' | 'disk' | 'locked';

/**
 * Or the client is closed or has no spool, the event is larger than the service takes, the event or a setting is wrong, or a
 * flush took too long.
 */
export type SpoolFault = StorageFault | 'closed' | 'none' | 'too-large' | 'invalid' | 'late';

/** Nothing was recorded; with the fault `late`, events wait in the spool. */
export class SpoolError extends FaultError<SpoolFault> {
  override readonly name = 'SpoolError';
}

/** The Error body of the service, as far as the response had one. */
export interface ErrorBody {
  status: number;
  message: string;
  code?: string;
  id?: string;
  /** A pointer is a JSON pointer into the body; `?name` for a query parameter, `header:name` for a header. */
  details?: { fields?: { pointer: string; reason: string }[] } & Record<string, unknown>;
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
