import { ControlError } from '../../contract/errors.js';
import { StoreUnusable } from '../../platform/store-unusable.js';

/** A request to a broker that failed, or that the broker refused. */
export class KafkaFault extends Error {
  override readonly name = 'KafkaFault';

  constructor(
    message: string,
    /** Whether the broker may have received the request. */
    readonly sent: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export function unavailable(cause: unknown): ControlError {
  return new ControlError('log_unavailable', `Kafka does not answer: ${(cause as Error).message}`, {}, { cause });
}

type Cause = Error & { readonly type?: string; readonly code?: string };

/** kafkajs wraps errors in others. */
function causesOf(error: unknown): Cause[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}

/** The name of a broker's error code, such as `UNKNOWN_TOPIC_OR_PARTITION`; empty if the error is none of a broker. */
export function brokerError(error: unknown): string {
  return causesOf(error).find(({ type }) => type)?.type ?? '';
}

const CERTIFICATES = /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

/** Why the log cannot be opened: `StoreUnusable` if the operator has to act, `log_unavailable` if another try may do. */
export function openFailure(error: unknown): StoreUnusable | ControlError {
  if (error instanceof StoreUnusable) return error;
  for (const { name, type = '', code = '', message } of causesOf(error)) {
    if (/SASL/.test(name + type)) {
      const remedy = 'check its user, password and mechanism';
      return new StoreUnusable(`Kafka refuses the credentials: ${message}; ${remedy}`, { cause: error });
    }
    if (CERTIFICATES.test(code)) {
      const remedy = 'check the certificate authority and the port';
      return new StoreUnusable(`TLS with Kafka fails: ${message}; ${remedy}`, { cause: error });
    }
  }
  return unavailable(error);
}
