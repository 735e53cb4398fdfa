import { ControlError } from '../../contract/errors.js';
import { StoreUnusable } from '../../platform/store-unusable.js';

/** A request that got no answer. */
export class KafkaFault extends Error {
  override readonly name = 'KafkaFault';

  constructor(
    message: string,
    /** Whether the broker may have got the request. */
    readonly sent: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export function unavailable(cause: unknown): ControlError {
  return new ControlError('log_unavailable', `Kafka does not answer: ${(cause as Error).message}`, {}, { cause });
}

const CREDENTIALS = /SASL/;
const CERTIFICATES = /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

/** What to tell when the log cannot be opened: whether another try may do, or the operator has to. */
export function unopened(error: unknown): StoreUnusable | ControlError {
  if (error instanceof StoreUnusable) return error;
  for (let cause = error; cause instanceof Object; cause = (cause as Error).cause) {
    const { name = '', type = '', code = '', message } = cause as { [Name in string]?: string };
    if (CREDENTIALS.test(name) || CREDENTIALS.test(type)) {
      return new StoreUnusable(`Kafka refuses the credentials: ${message}; check its user, password and mechanism`, {
        cause: error,
      });
    }
    if (CERTIFICATES.test(code)) {
      return new StoreUnusable(`TLS with Kafka fails: ${message}; check the certificate authority and the port`, {
        cause: error,
      });
    }
  }
  return unavailable(error);
}
