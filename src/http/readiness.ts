/** Whether the process serves, and what it waits for. Abstract, not an interface, so that it is its own injection token. */
export abstract class Readiness {
  /** Whether the process was asked to stop: it is not ready any more, and may work on for a while. */
  abstract readonly isStopping: boolean;

  /** From now on the process is not ready, and works on. */
  abstract drain(): void;

  /** From now on no new request is accepted. */
  abstract stop(): void;

  /** Everything that keeps the process from being ready; nothing when it is. */
  abstract missing(): string[];

  /**
   * As `missing`. It also reads the log and the read model, in reads that begin after the call, so that no process reports
   * ready and then refuses the next read with 503.
   */
  abstract check(): Promise<string[]>;

  /** What an operator should know of a process that is ready. */
  abstract warnings(): string[];

  /** Why requests are refused, or undefined. */
  abstract closedBecause(): string | undefined;
}
