import { HASH_BYTES } from './hash.js';
import { FormatInvalid, fromBase64, fromDecimal } from './text.js';

/** That a log has an entry: C2SP tlog-proof. */
export interface TlogProof {
  /** Not authenticated. */
  readonly extra?: Buffer;
  readonly index: number;
  readonly path: readonly Buffer[];
  /** The checkpoint, signed. */
  readonly note: string;
}

const FORMAT = 'c2sp.org/tlog-proof@v1';
const [EXTRA, INDEX] = ['extra ', 'index '];
/** A tree has at most 2^63 leaves. */
const LONGEST_PATH = 63;

export function tlogProofText({ extra, index, path, note }: TlogProof): string {
  const lines = [FORMAT, ...(extra ? [EXTRA + extra.toString('base64')] : []), INDEX + index];
  return [...lines, ...path.map((hash) => hash.toString('base64')), '', note].join('\n');
}

/** Throws `FormatInvalid`. */
export function parseTlogProof(text: string): TlogProof {
  const end = text.indexOf('\n\n');
  const [format, ...lines] = text.slice(0, end).split('\n');
  if (format !== FORMAT || end < 0) throw new FormatInvalid(`The proof does not begin with the line "${FORMAT}".`);
  const extra = lines[0]?.startsWith(EXTRA) ? fromBase64(lines.shift()?.slice(EXTRA.length) ?? '') : null;
  const index = lines[0]?.startsWith(INDEX) ? fromDecimal(lines.shift()?.slice(INDEX.length) ?? '') : undefined;
  if (extra === undefined || index === undefined)
    throw new FormatInvalid('The proof has no line "index <number>", or a line "extra" that is not base64.');
  const path = lines.map(fromBase64).filter((hash) => hash?.length === HASH_BYTES);
  if (path.length < lines.length || path.length > LONGEST_PATH)
    throw new FormatInvalid('The proof has a line that is not the base64 of a hash, or too many of them.');
  return { ...(extra && { extra }), index, path: path.flatMap((hash) => hash ?? []), note: text.slice(end + 2) };
}
