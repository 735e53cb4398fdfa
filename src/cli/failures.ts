/** The exit codes of `svc`. Scripts rely on them: they are part of its interface. */
export const EXIT = { ok: 0, failure: 1, usage: 2, denied: 4, interrupted: 130 } as const;

/** A failure whose message is for the user: shown without a stack trace, ending the process with `exitCode`. */
export class CliError extends Error {
  override readonly name: string = 'CliError';

  constructor(
    message: string,
    readonly exitCode: number = EXIT.failure,
    /** Lines shown below the message: what to do about it. */
    readonly hints: readonly string[] = [],
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The command line asks for something that cannot be: exit code 2. */
export class UsageError extends CliError {
  override readonly name = 'UsageError';

  constructor(message: string, hints: readonly string[] = []) {
    super(message, EXIT.usage, hints);
  }
}

/** The user pressed Ctrl-C: exit code 130, nothing more to say. */
export class Interrupted extends CliError {
  override readonly name = 'Interrupted';

  constructor() {
    super('interrupted', EXIT.interrupted);
  }
}

interface FieldFault {
  pointer: string;
  reason: string;
}

/** The Error body of the service, as far as an answer carried one. */
export interface ErrorBody {
  status: number;
  message: string;
  code?: string;
  id?: string;
  details?: { fields?: FieldFault[] } & Record<string, unknown>;
}

/** A refusal by the service. */
export class ApiError extends CliError {
  override readonly name = 'ApiError';

  constructor(
    readonly body: ErrorBody,
    readonly retryAfterMs?: number,
  ) {
    super(describe(body), isDenied(body.status) ? EXIT.denied : EXIT.failure, [
      ...faultLines(body),
      ...(body.status === 401 ? ['store a key with `svc login`, or give one with --token or SVC_TOKEN'] : []),
    ]);
  }
}

const isDenied = (status: number): boolean => status === 401 || status === 403;

/** `message (code, request id)`, without the parts that the body does not have. */
function describe(body: ErrorBody): string {
  const origin = [body.code, body.id && `request ${body.id}`].filter(Boolean).join(', ');
  return origin ? `${body.message} (${origin})` : body.message;
}

/** One line for each fault that `details.fields` names. */
function faultLines(body: ErrorBody): string[] {
  const fields = body.details?.fields;
  if (!Array.isArray(fields)) return [];
  return fields.map(({ pointer, reason }) => `${pointer || 'the body'}: ${reason}`);
}

/** The one message of a failed item: its description and its faults, on one line. */
export function describeItem(body: ErrorBody): string {
  const faults = faultLines(body);
  return faults.length > 1 ? `${describe(body)}: ${faults.join('; ')}` : describe(body);
}
