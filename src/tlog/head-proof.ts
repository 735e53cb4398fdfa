import type { Checkpoint } from './checkpoint.js';
import { step, VerificationFailed } from './failure.js';
import { leafHash } from './hash.js';
import { verifyInclusion } from './merkle.js';
import { parseServiceEntry, type ServiceEntry } from './service-entry.js';
import { FormatInvalid, fromBase64 } from './text.js';
import { parseTlogProof } from './tlog-proof.js';
import type { Cosignature, OpenCheckpoint, Trusted } from './trust.js';

/** That the service log has an organization's checkpoint, and under which number. */
export interface Head {
  readonly number: number;
  /** The cut as of which the checkpoint was the organization's. */
  readonly cut: ServiceEntry;
  readonly service: Checkpoint;
  readonly cosignatures: readonly Cosignature[];
}

/** `extra` of the tlog-proof of a cut in the service log. */
interface HeadExtra {
  readonly entry: string;
  readonly number: number;
  readonly checkpoint: string;
  readonly directory: readonly string[];
}

/** Throws `VerificationFailed`. */
export function verifyHead(proof: string, org: OpenCheckpoint, trusted: Trusted): Head {
  const what = 'The head proof';
  const { extra: bytes, index, path, note } = step('head', what, () => parseTlogProof(proof));
  const { entry, number, checkpoint, directory } = step('head', what, () => extraOf(bytes));
  if (checkpoint !== org.text)
    throw new VerificationFailed(
      'head',
      `${what} is of another checkpoint of the organization than that of the proof file.`,
    );
  const service = trusted.open(note, 'The checkpoint of the service log');
  if (parentOf(org.checkpoint.origin) !== service.checkpoint.origin)
    throw new VerificationFailed(
      'head',
      `${what} leads to the log ${service.checkpoint.origin}, which is not that of the service.`,
    );
  const cut = step('head', what, () => {
    const parsed = parseServiceEntry(entry);
    if (parsed.n !== index + 1)
      throw new FormatInvalid(`It says that cut ${parsed.n} is entry ${index} of the service log.`);
    const { size, root } = service.checkpoint;
    verifyInclusion(leafHash(Buffer.from(entry)), index, size, path, root);
    verifyInclusion(leafHash(Buffer.from(checkpoint)), number, parsed.orgs, directory.map(hashIn), parsed.directory);
    return parsed;
  });
  return { number, cut, service: service.checkpoint, cosignatures: service.cosignatures };
}

/** The origin of the service log for that of an organization. */
function parentOf(origin: string): string {
  return origin.replace(/\/org\/[^/]+(\/-tlog(?:\/\d+)?)$/, '$1');
}

function extraOf(bytes: Buffer | undefined): HeadExtra {
  let value: Partial<HeadExtra> | null = null;
  try {
    value = JSON.parse((bytes ?? '').toString());
  } catch {
    // Told below.
  }
  const { entry, number, checkpoint, directory } = value ?? {};
  const isComplete = typeof entry === 'string' && typeof checkpoint === 'string' && Array.isArray(directory);
  if (!isComplete || number === undefined || !Number.isSafeInteger(number))
    throw new FormatInvalid(
      'Its line "extra" lacks the entry, the number, the checkpoint or the path of the directory.',
    );
  return { entry, number, checkpoint, directory };
}

function hashIn(base64: string): Buffer {
  const hash = fromBase64(base64);
  if (hash?.length !== 32)
    throw new FormatInvalid('The path of the directory has a line that is not the base64 of a hash.');
  return hash;
}
