import { HASH_BYTES, sha256 } from './hash.js';
import { FormatInvalid, fromBase64, fromDecimal, fromTime } from './text.js';

/** What the service log holds of a cut. Times in milliseconds. */
export interface ServiceEntry {
  readonly n: number;
  readonly at: number;
  readonly orgs: number;
  /** The root over the checkpoint texts of all organizations. */
  readonly directory: Buffer;
  /** `nextHash` of the offsets at which the cut ends. */
  readonly next: Buffer;
  /** Of the records of `control`, and the unreadable ones of `audit`. */
  readonly digest: Buffer;
  readonly complete: number;
}

const FORMAT = 'control-cut/v1';

export function serviceEntryText({ n, at, orgs, directory, next, digest, complete }: ServiceEntry): string {
  const hashes = [directory, next, digest].map((hash) => hash.toString('base64'));
  return [FORMAT, n, at, orgs, ...hashes, complete, ''].join('\n');
}

/** Throws `FormatInvalid`. */
export function parseServiceEntry(text: string): ServiceEntry {
  const [format, ...lines] = text.split('\n');
  const [n, orgs] = [lines[0], lines[2]].map((line = '') => fromDecimal(line));
  const [at, complete] = [lines[1], lines[6]].map((line = '') => fromTime(line));
  const [directory, next, digest] = lines.slice(3, 6).map(fromBase64);
  if (format !== FORMAT || lines.length !== 8 || lines[7] !== '')
    throw new FormatInvalid(`The entry of the service log does not consist of "${FORMAT}" and seven more lines.`);
  if (n === undefined || at === undefined || orgs === undefined || complete === undefined)
    throw new FormatInvalid('The entry of the service log lacks a number.');
  if (directory?.length !== HASH_BYTES || next?.length !== HASH_BYTES || digest?.length !== HASH_BYTES)
    throw new FormatInvalid('The entry of the service log lacks a hash.');
  return { n, at, orgs, directory, next, digest, complete };
}

/** Of the next offset of every partition, by `topic/partition`, as JSON with sorted members. */
export function nextHash(next: Readonly<Record<string, number>>): Buffer {
  const sorted = Object.keys(next).sort((a, b) => {
    const [[topicA = '', partitionA], [topicB = '', partitionB]] = [a.split('/'), b.split('/')];
    if (topicA !== topicB) return topicA < topicB ? -1 : 1;
    return Number(partitionA) - Number(partitionB);
  });
  return sha256(Buffer.from(`{${sorted.map((key) => `${JSON.stringify(key)}:${next[key]}`).join(',')}}`));
}
