import { Cover } from './cover.js';
import { VerificationFailed } from './failure.js';
import { type Shown, verifyTime } from './findings.js';
import { HASH_BYTES, leafHash } from './hash.js';
import { commitmentOf, entryOf } from './leaf.js';
import { Lines } from './lines.js';
import { perfectSubtrees } from './merkle.js';
import { receivedTimeOf } from './received-time.js';
import { type ClosedRun, hintOf, parseSidecarLine, type SidecarLine, type SignedHead } from './sidecar.js';
import { FormatInvalid } from './text.js';
import type { OpenCheckpoint } from './trust.js';

/** The two files of an export with proof, in chunks of any size. */
export interface ExportFiles {
  readonly events: AsyncIterable<Buffer>;
  readonly proof: AsyncIterable<Buffer>;
  /** Called now and then, with the bytes of both files and the events until then. */
  readonly onProgress?: (bytes: number, events: number) => void;
}

const END_OF_EXPORT = '{"kind":"exportend"';
const EVENTS_A_REPORT = 4096;

/** The tree as the two files have it. */
export class ExportReading {
  events = 0;
  readonly #pinned: readonly OpenCheckpoint[];
  readonly #cover: Cover;
  /** The line with the last leaf, and that with the latest time. */
  #last = { leaf: -1, line: 0 };
  #latest = { time: 0, leaf: 0, line: 0 };

  /** `size`: of the whole tree, if it is known already. */
  constructor(
    pinned: readonly OpenCheckpoint[],
    private readonly size?: number,
  ) {
    this.#pinned = pinned;
    this.#cover = new Cover(pinned.map(({ checkpoint }) => checkpoint.size));
  }

  async read({ events, proof, onProgress }: ExportFiles): Promise<{ signed: SignedHead; runs: ClosedRun[] }> {
    const [lines, proofs] = [new Lines(events), new Lines(proof)];
    for (;;) {
      const line = lines.take() ?? (await lines.next());
      if (!line || isEnd(line)) {
        if (line && (await lines.next())) throw new VerificationFailed('format', 'Lines follow the end of the export.');
        break;
      }
      this.events += 1;
      const place = proofs.take() ?? (await proofs.next());
      this.#event(line, this.#sidecarLine(place));
      if (this.events % EVENTS_A_REPORT === 0) onProgress?.(lines.bytes + proofs.bytes, this.events);
    }
    const rest = await this.#rest(proofs);
    onProgress?.(lines.bytes + proofs.bytes, this.events);
    return rest;
  }

  #event(text: Buffer, proof: SidecarLine): void {
    const line = this.events;
    if (proof.kind !== 'leaf')
      throw new VerificationFailed(
        'line',
        `Line ${line} has no leaf in the proof file, which ends before: the line was inserted.`,
        { line },
      );
    const { leaf, salt, hash } = proof;
    const at = { line, leaf };
    if (leaf >= (this.size ?? Number.POSITIVE_INFINITY)) throw beyond(this.size ?? 0, at);
    const where = `Line ${line} (leaf ${leaf})`;
    const time = receivedTimeOf(text);
    if (time === undefined)
      throw new VerificationFailed('line', `${where} does not end with a receivedTime as the service writes it.`, at);
    const found = leafHash(entryOf(time, commitmentOf(salt, text)));
    if (hintOf(found) !== hash)
      throw new VerificationFailed(
        'line',
        `${where} is not the event of its leaf: the line, its place or its salt was changed.`,
        at,
      );
    if (!this.#cover.addLeaf(leaf, found))
      throw new VerificationFailed('cover', `${where} has the leaf of an earlier line.`, at);
    for (const pinned of this.#pinned) verifyTime(time, at, { pinned });
    if (leaf > this.#last.leaf) this.#last = at;
    if (time > this.#latest.time) this.#latest = { time, ...at };
  }

  async #rest(proofs: Lines): Promise<{ signed: SignedHead; runs: ClosedRun[] }> {
    const runs: ClosedRun[] = [];
    let signed: SignedHead | undefined;
    for (;;) {
      const line = this.#sidecarLine(proofs.take() ?? (await proofs.next()));
      if (line.kind === 'leaf')
        throw new VerificationFailed(
          'line',
          `The events end after line ${this.events}, but leaf ${line.leaf} follows in the proof file.`,
          { leaf: line.leaf },
        );
      if (!signed && line.kind === 'closed') runs.push(line);
      else if (!signed && line.kind === 'checkpoint') signed = line;
      else if (!signed || line.kind !== 'end' || line.count !== this.events || (await proofs.next()))
        throw new VerificationFailed(
          'format',
          `The proof file is not whole: it does not end with one checkpoint and the end of ${this.events} events.`,
        );
      else return { signed, runs };
    }
  }

  #sidecarLine(line: Buffer | undefined): SidecarLine {
    if (!line)
      throw new VerificationFailed('format', `The proof file ends too early: before the end of ${this.events} events.`);
    try {
      return parseSidecarLine(line.toString());
    } catch (error) {
      if (!(error instanceof FormatInvalid)) throw error;
      throw new VerificationFailed(
        'format',
        `At line ${this.events} of the events, the proof file has a line that is damaged: ${error.message}.`,
      );
    }
  }

  verifyTree(shown: Shown, runs: readonly ClosedRun[]): void {
    const { size, root, cut } = shown;
    if (this.#last.leaf >= size) throw beyond(size, this.#last);
    for (const run of runs) this.#close(run, size);
    const found = this.#cover.root(size);
    if (typeof found === 'number')
      throw new VerificationFailed('cover', `Leaf ${found} is missing: neither a line nor a closed leaf shows it.`, {
        leaf: found,
      });
    if (this.#cover.count !== size) throw new VerificationFailed('cover', 'A closed leaf is closed twice.');
    if (found.toString('base64') !== root)
      throw new VerificationFailed(
        'root',
        `The ${size} leaves are not those of the checkpoint: events and proof file were changed together, or the checkpoint is of another history.`,
      );
    for (const pinned of this.#pinned) this.#verifyPrefix(pinned);
    const { time, ...at } = this.#latest;
    if (this.events) verifyTime(time, at, { cut });
  }

  #verifyPrefix({ checkpoint: { size, root } }: OpenCheckpoint): void {
    const found = this.#cover.root(size);
    if (typeof found === 'number')
      throw new VerificationFailed(
        'pinned',
        `The closed leaves from ${found} on are not divided at ${size}, the size of the pinned checkpoint: export again and name it.`,
        { leaf: found },
      );
    if (!found.equals(root))
      throw new VerificationFailed(
        'pinned',
        `The first ${size} leaves are not those of the pinned checkpoint: history was rewritten. Keep both checkpoints, they prove it.`,
      );
  }

  #close({ from, count, hashes }: ClosedRun, size: number): void {
    if (from + count > size)
      throw new VerificationFailed(
        'cover',
        `Leaves up to ${from + count} are closed, but the checkpoint has ${size}.`,
        { leaf: size },
      );
    const subtrees = perfectSubtrees(from, count);
    if (subtrees.length !== hashes.length)
      throw new VerificationFailed(
        'format',
        `The ${count} closed leaves from ${from} need ${subtrees.length} hashes, not ${hashes.length}.`,
      );
    for (const [at, { level, index }] of subtrees.entries()) this.#closeSubtree(level, index, hashes[at]);
  }

  #closeSubtree(level: number, index: number, hash: Buffer | undefined): void {
    const [from, to] = [index * 2 ** level, (index + 1) * 2 ** level];
    const shown = this.#cover.firstLeaf(from, to);
    if (shown !== undefined)
      throw new VerificationFailed('cover', `Leaf ${shown} is closed, but a line shows it too.`, { leaf: shown });
    if (hash?.length !== HASH_BYTES)
      throw new VerificationFailed('format', `The hash of the closed leaves from ${from} is not one.`, { leaf: from });
    this.#cover.addSubtree(level, index, hash);
  }
}

function beyond(size: number, { line, leaf }: { line: number; leaf: number }): VerificationFailed {
  const message = `Line ${line} has leaf ${leaf}, but the checkpoint has ${size} leaves.`;
  return new VerificationFailed('cover', message, { line, leaf });
}

function isEnd(line: Buffer): boolean {
  return line.toString('latin1', 0, END_OF_EXPORT.length) === END_OF_EXPORT;
}
