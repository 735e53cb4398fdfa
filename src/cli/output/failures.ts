import {
  ApiError,
  ClientError,
  ConnectionError,
  type ConnectionFault,
  type ErrorBody,
  Interrupted,
} from '../../client/errors.js';
import { type Given, tellRefusal } from './fields.js';

/** The exit codes of `svc`. Scripts rely on them: they are part of its interface. */
export const EXIT = { ok: 0, failure: 1, usage: 2, denied: 4, interrupted: 130 } as const;

/** A failure of `svc` itself: shown without a stack trace, ending the process with `exitCode`. */
export class CliError extends ClientError {
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

/** The command line is wrong: exit code 2. */
export class UsageError extends CliError {
  override readonly name = 'UsageError';

  constructor(message: string, hints: readonly string[] = []) {
    super(message, EXIT.usage, hints);
  }
}

export const LOG_IN = 'log in with `svc login`, or give a key with --token or SVC_TOKEN';
const CHECK = 'check --endpoint, SVC_ENDPOINT and the profile';

const CONNECTION_HINTS: Readonly<Record<ConnectionFault, string>> = {
  'unknown-host': CHECK,
  refused: `start the service, or ${CHECK}`,
  unreachable: CHECK,
  cut: 'try again',
  late: 'give it longer with --timeout; a change may have been made all the same: look before you repeat it',
  untrusted: 'NODE_EXTRA_CA_CERTS names your own authority; --insecure skips the check',
  'not-http': 'http or https? see --endpoint',
  'not-json': 'is this the address of the service? see --endpoint; --debug shows the answer',
  other: CHECK,
};

/** The exit code of a failure. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof Interrupted) return EXIT.interrupted;
  return error instanceof ApiError && [401, 403].includes(error.body.status) ? EXIT.denied : EXIT.failure;
}

/** What to do about a failure, a line each. */
export function hintsOf(error: ClientError): readonly string[] {
  if (error instanceof CliError) return error.hints;
  if (error instanceof ConnectionError) return [CONNECTION_HINTS[error.fault]];
  if (!(error instanceof ApiError)) return [];
  const isTold = error.message.includes('svc login');
  return [...tellRefusal(error.body).lines, ...(error.body.status === 401 && !isTold ? [LOG_IN] : [])];
}

/** A refusal in the words of the command line; any other failure as it is. */
export function inWords(error: unknown, given: Given): unknown {
  if (!(error instanceof ApiError) || !error.body.details?.fields) return error;
  const { message, lines } = tellRefusal(error.body, given);
  return new CliError(message, exitCodeOf(error), lines, { cause: error });
}

/** The message of a failed item: its description and its faults, on one line. */
export function describeItem(body: ErrorBody): string {
  const { message, lines } = tellRefusal(body);
  return lines.length > 0 ? `${message}: ${lines.join('; ')}` : message;
}
