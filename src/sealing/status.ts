/** What operators see of the sealed history, as far as one process knows it. Times are ISO 8601. */
export interface TlogStatus {
  /** Whether this process seals. It alone knows `stalled`, the faults of witnesses, since when a quorum is missing, and anchors. */
  readonly seals: boolean;
  /** Of the service log. */
  readonly origin: string;
  readonly epoch: number;
  /** The key that signs from now on. */
  readonly vkey?: string;
  /** The last one that was published; absent before the first. */
  readonly checkpoint?: {
    /** Cuts, which is the size of the service log. */
    readonly size: number;
    readonly at: string;
    /** Every record that the log took before is covered. */
    readonly complete: string;
  };
  /** Age of the oldest record that no published checkpoint covers; 0 if there is none. */
  readonly lagSeconds: number;
  /** Why nothing is signed any more. */
  readonly divergence: string | null;
  /** Why a part of the log is not sealed, or nothing at the moment. */
  readonly stalled: string | null;
  /** Absent without a policy. */
  readonly quorum?: {
    readonly name: string;
    /** For how long a checkpoint has waited for it. */
    readonly missingSeconds?: number;
  };
  readonly witnesses: readonly {
    readonly name: string;
    /** When it cosigned the published checkpoint. */
    readonly cosigned?: string;
    /** Why it did not cosign when it was last asked. */
    readonly fault?: string;
  }[];
  readonly anchors: readonly {
    readonly name: string;
    /** When it was last given a checkpoint by this process. */
    readonly kept?: string;
  }[];
}

/** Under this token Nest injects the function that reads it. */
export const TLOG_STATUS = Symbol('TlogStatus');

export type ReadTlogStatus = () => Promise<TlogStatus>;
