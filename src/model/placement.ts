/** Where the identifiers of events count that a publisher's Idempotency-Key stands for: see ADR 26. */
export interface PlacementState {
  /** Among how many of the first partitions of `audit` they are placed, for ever. */
  readonly partitions: number;
  /** The offset in each partition from which on that holds; 0 in partitions that were added later. */
  readonly from: Readonly<Record<number, number>>;
}

export interface IdentifiersPlaced {
  readonly type: 'identifiers-placed';
  readonly stream: typeof PLACEMENT;
  readonly data: PlacementState;
}

export const PLACEMENT = 'placement/audit';
