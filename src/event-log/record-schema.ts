/** The schema of the records that this program writes, and the newest that it reads. Older ones are upcast on reading. */
export const SCHEMA_VERSION = '1';

/** The record can never be read: what it says is not what its topic holds, or a newer program wrote it. */
export class UnreadableRecord extends Error {
  override readonly name = 'UnreadableRecord';
}
