/** Whether the process serves, and what it waits for. Abstract, not an interface, so that it is its own injection token. */
export abstract class Readiness {
  abstract readonly isStopping: boolean;

  /** From now on no new request is accepted. */
  abstract stop(): void;

  /** Everything that keeps the process from being ready; nothing when it is. */
  abstract missing(): string[];

  /**
   * As `missing`. For the role `api` it also reads the read model, in a read that begins after the call, so that no
   * process reports ready and then refuses the next read with 503.
   */
  abstract check(): Promise<string[]>;

  /** Why requests are refused, or undefined. */
  abstract closedBecause(): string | undefined;
}
