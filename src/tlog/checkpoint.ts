import { HASH_BYTES } from './hash.js';
import { FormatInvalid, fromBase64, fromDecimal, fromTime } from './text.js';

/** Of the cut that last added leaves. Times in milliseconds. */
export interface CheckpointCut {
  readonly n: number;
  /** Every record that the log took before this time is in this cut or an earlier one. */
  readonly complete: number;
  /** When the cut was made, by the log's clock. */
  readonly at: number;
}

/** The head of a tree: C2SP tlog-checkpoint. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
  readonly cut?: CheckpointCut;
}

const CUT = 'control-cut';

export function checkpointText({ origin, size, root, cut }: Checkpoint): string {
  const extension = cut ? `${CUT} ${cut.n} ${cut.complete} ${cut.at}\n` : '';
  return `${origin}\n${size}\n${root.toString('base64')}\n${extension}`;
}

/** Extension lines other than that of the cut are skipped. Throws `FormatInvalid`. */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin, decimal = '', base64 = '', ...extensions] = text.split('\n');
  const [size, root] = [fromDecimal(decimal), fromBase64(base64)];
  if (
    !origin ||
    size === undefined ||
    root?.length !== HASH_BYTES ||
    extensions.pop() !== '' ||
    extensions.includes('')
  )
    throw new FormatInvalid('The checkpoint is not an origin, a size and a root hash, each on a line.');
  const cut = extensions.find((line) => line.startsWith(`${CUT} `));
  return { origin, size, root, ...(cut !== undefined && { cut: parseCut(cut) }) };
}

function parseCut(line: string): CheckpointCut {
  const [, first = '', ...times] = line.split(' ');
  const [n, [complete, at, ...others]] = [fromDecimal(first), times.map(fromTime)];
  if (n === undefined || complete === undefined || at === undefined || others.length)
    throw new FormatInvalid(`The checkpoint has the line "${line}", not "${CUT} <number> <complete> <made at>".`);
  return { n, complete, at };
}
