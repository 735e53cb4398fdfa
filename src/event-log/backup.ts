/** What a log can do that is kept in one file. */
export interface Backup {
  /**
   * Writes a copy of the whole log to a new file, while appends and reads go on. Everything whose append resolved before
   * the call is in it, and nothing but whole appends. The copy is on the disk when this resolves; after a rejection
   * a part of it may be left there. Rejects with a `ControlError`: `log_unavailable` when the log is closed or its file
   * is in doubt, `conflict` when the disk has no space for a copy.
   */
  snapshot(to: string): Promise<Snapshot>;
}

/** Under this token Nest injects the `Backup`. */
export const BACKUP = Symbol('Backup');

export interface Snapshot {
  /** The log's identifier. */
  readonly log: string;
  /** The next offset of each partition, by `topic/partition`. */
  readonly heads: Readonly<Record<string, number>>;
}
