/** A signed checkpoint of the service log, with the cosignatures that it has. */
export interface AnchoredCheckpoint {
  readonly note: string;
  readonly origin: string;
  readonly size: number;
}

/** A place outside the service that keeps checkpoints, so that nobody can deny one later. */
export interface Anchor {
  /** In logs and metrics. Has no secret of the address. */
  readonly name: string;
  /** Resolves when the checkpoint is kept. The same one may be put again. Rejects with the reason; it is put again then. */
  put(checkpoint: AnchoredCheckpoint): Promise<void>;
}

/** Of one request to an anchor. */
export const ANCHOR_LIMITS = { timeoutMs: 30_000, maxBytes: 65_536 };
