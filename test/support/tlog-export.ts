import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { type CheckpointCut, checkpointText } from '../../src/tlog/checkpoint.js';
import { leafHash, sha256 } from '../../src/tlog/hash.js';
import { commitmentOf, entryOf, orgSecret, saltOf } from '../../src/tlog/leaf.js';
import { CompactRange, inclusionPath, type Nodes, perfectSubtrees, rootAt } from '../../src/tlog/merkle.js';
import { NoteSigner, parseVkey, vkeyOf } from '../../src/tlog/note.js';
import { originText } from '../../src/tlog/origin.js';
import { nextHash, serviceEntryText } from '../../src/tlog/service-entry.js';
import { checkpointLine, closedLine, endLine, leafLine } from '../../src/tlog/sidecar.js';
import { tlogProofText } from '../../src/tlog/tlog-proof.js';
import { VECTORS } from './tlog-vectors.js';

/** When the first event of a sample is received. */
export const START_MS = Date.parse('2026-03-01T12:00:00.000Z');

/** Keys from fixed seeds, made for the vectors: nothing else uses them. */
function signerOf(seed: number): NoteSigner {
  return NoteSigner.parse(VECTORS.notes[seed]?.signer ?? '');
}

interface SampleOptions {
  readonly base?: string;
  readonly org?: string;
  readonly epoch?: number;
  /** Of `vectors` notes. */
  readonly seed?: number;
  readonly eventBytes?: number;
}

interface Leaf {
  readonly text: Buffer;
  readonly salt: Buffer;
  readonly entry: Buffer;
  readonly hash: Buffer;
}

export interface SampleExport {
  /** Lines. */
  readonly events: string;
  readonly proof: string;
}

interface ExportOptions {
  /** Why there is no event for a leaf. */
  readonly closed?: (leaf: number) => string | undefined;
  /** Sizes at which runs of closed leaves are divided. */
  readonly dividedAt?: number;
  /** The leaves in the order of their lines. */
  readonly order?: readonly number[];
  readonly withHead?: boolean;
  readonly cosign?: (note: string) => string;
}

/** Number of the sample's organization, and how many there are. */
const [NUMBER, ORGS] = [2, 5];

/** The history of one organization as the service would make it, without a service. */
export class SampleHistory {
  readonly origin: string;
  readonly serviceOrigin: string;
  readonly vkey: string;
  readonly serviceVkey: string;
  readonly number = NUMBER;
  readonly signer: NoteSigner;
  /** Signed checkpoints, one a cut. */
  readonly notes: string[] = [];
  readonly leaves: Leaf[] = [];
  readonly #serviceLeaves: Buffer[] = [];
  #head: string | undefined;
  readonly #secret: Buffer;
  readonly #org: string;
  readonly #eventBytes: number;
  /** The clock. */
  now = START_MS;

  constructor({ base = 'audit.example.com', org = 'acme', epoch = 1, seed = 0, eventBytes = 0 }: SampleOptions = {}) {
    this.origin = originText({ base, org, epoch });
    this.serviceOrigin = originText({ base, epoch });
    this.signer = signerOf(seed);
    this.vkey = vkeyOf(this.origin, this.signer.publicKey);
    this.serviceVkey = vkeyOf(this.serviceOrigin, this.signer.publicKey);
    this.#secret = orgSecret(Buffer.alloc(32, 42), org);
    this.#org = org;
    this.#eventBytes = eventBytes;
  }

  publish(count: number, time?: number): void {
    for (let left = count; left > 0; left -= 1) {
      this.now += 7;
      this.append(this.#event(this.leaves.length, time ?? this.now));
    }
  }

  append({ text, time }: { text: Buffer; time: number }): void {
    const offset = this.leaves.length;
    const salt = saltOf(this.#secret, { topic: 'audit', partition: 0, offset, rank: 0 });
    const entry = entryOf(time, commitmentOf(salt, text));
    this.leaves.push({ text, salt, entry, hash: leafHash(entry) });
  }

  /** Signs what was published until now. `cut` overrides what the checkpoint says of it. */
  async cut(cut: Partial<CheckpointCut> = {}): Promise<string> {
    this.now += 5_000;
    const n = this.#serviceLeaves.length + 1;
    const times = { n, complete: this.now - 100, at: this.now, ...cut };
    const nodes = nodesOf(this.leaves.map(({ hash }) => hash));
    const size = this.leaves.length;
    const text = checkpointText({ origin: this.origin, size, root: await rootAt(size, nodes), cut: times });
    this.#head = await this.#headProof(text, times);
    const note = this.signer.signNote(this.origin, text);
    this.notes.push(note);
    return note;
  }

  /** Of the last cut. `cosign` may add lines to the note of the service log. */
  headProof(cosign: (note: string) => string = (note) => note): string {
    const proof = this.#head ?? '';
    const end = proof.indexOf('\n\n') + 2;
    return proof.slice(0, end) + cosign(proof.slice(end));
  }

  async #headProof(text: string, { n, complete, at }: CheckpointCut): Promise<string> {
    const others = Array.from({ length: ORGS }, (_, number) => `audit.example.com/audit/org/o${number}/-tlog\n0\n`);
    const texts = others.map((other, number) => (number === NUMBER ? text : other));
    const directory = nodesOf(texts.map((entry) => leafHash(Buffer.from(entry))));
    const entry = serviceEntryText({
      ...{ n, complete, at, orgs: ORGS, directory: await rootAt(ORGS, directory) },
      ...{ next: nextHash({ 'audit/0': this.leaves.length, 'control/0': 1 }), digest: sha256(Buffer.alloc(0)) },
    });
    this.#serviceLeaves.push(leafHash(Buffer.from(entry)));
    const service = nodesOf(this.#serviceLeaves);
    const size = this.#serviceLeaves.length;
    const path = (await inclusionPath(NUMBER, ORGS, directory)).map((hash) => hash.toString('base64'));
    const checkpoint = checkpointText({ origin: this.serviceOrigin, size, root: await rootAt(size, service) });
    return tlogProofText({
      extra: Buffer.from(JSON.stringify({ entry, number: NUMBER, orgs: ORGS, checkpoint: text, directory: path })),
      index: size - 1,
      path: await inclusionPath(size - 1, size, service),
      note: this.signer.signNote(this.serviceOrigin, checkpoint),
    });
  }

  export({
    closed = () => undefined,
    dividedAt = 0,
    order,
    withHead = true,
    cosign,
  }: ExportOptions = {}): SampleExport {
    const all = order ?? this.leaves.map((_, leaf) => leaf);
    const shown = all.filter((leaf) => closed(leaf) === undefined);
    const lines = shown.map((leaf) => `${this.leaves[leaf]?.text.toString()}\n`);
    const proofs = shown.map((leaf) => {
      const { salt, hash } = this.leaf(leaf);
      return leafLine(leaf, salt, hash);
    });
    const head = { note: this.notes.at(-1) ?? '', number: NUMBER, ...(withHead && { head: this.headProof(cosign) }) };
    const end = [...this.#closedLines(closed, dividedAt), checkpointLine(head), endLine(lines.length)];
    return { events: lines.join(''), proof: [...proofs, ...end].map((line) => `${line}\n`).join('') };
  }

  leaf(index: number): Leaf {
    const leaf = this.leaves[index];
    if (!leaf) throw new Error(`no leaf ${index}`);
    return leaf;
  }

  #closedLines(closed: (leaf: number) => string | undefined, dividedAt: number): string[] {
    const lines: string[] = [];
    for (let from = 0; from < this.leaves.length; ) {
      const reason = closed(from);
      let end = from + 1;
      while (end < this.leaves.length && end !== dividedAt && closed(end) === reason) end += 1;
      const count = end - from;
      if (reason !== undefined)
        lines.push(closedLine({ from, count, hashes: this.#subtrees(from, count), reasons: { [reason]: count } }));
      from = end;
    }
    return lines;
  }

  #subtrees(from: number, count: number): Buffer[] {
    return perfectSubtrees(from, count).map(({ level, index }) => {
      const range = new CompactRange();
      const leaves = this.leaves.slice(index * 2 ** level, (index + 1) * 2 ** level);
      for (const { hash } of leaves) range.append(hash);
      return range.root();
    });
  }

  /** The proof of one event at the size of the last cut. */
  async eventProof(index: number): Promise<string> {
    const nodes = nodesOf(this.leaves.map(({ hash }) => hash));
    return tlogProofText({
      extra: Buffer.from(JSON.stringify({ salt: this.leaf(index).salt.toString('base64url') })),
      index,
      path: await inclusionPath(index, this.leaves.length, nodes),
      note: this.notes.at(-1) ?? '',
    });
  }

  #event(index: number, time: number): { text: Buffer; time: number } {
    const id = `0195-${String(index).padStart(8, '0')}`;
    const event = {
      id,
      eventTime: new Date(time - 40).toISOString(),
      resource: { type: 'object', name: `file ${index} — ${'é'.repeat(index % 3)}` },
      action: { type: 'write' },
      subject: { email: 'ann@example.com' },
      context: { org: this.#org, name: 'default' },
      ...(this.#eventBytes && { data: 'x'.repeat(Math.max(0, this.#eventBytes - 290)) }),
    };
    const text = `${JSON.stringify(event).slice(0, -1)},"receivedTime":"${new Date(time).toISOString()}"}`;
    return { text: Buffer.from(text), time };
  }
}

/** Cosigns as a witness does, from a fixed seed. */
export class SampleWitness {
  readonly vkey: string;
  readonly #key: KeyObject;

  constructor(readonly name: string) {
    const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), sha256(Buffer.from(name))]);
    this.#key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
    this.vkey = vkeyOf(name, createPublicKey(this.#key).export({ format: 'der', type: 'spki' }).subarray(-32), 4);
  }

  /** The note with one more line. */
  cosign(note: string, timeMs: number): string {
    const text = note.slice(0, note.indexOf('\n\n') + 1);
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(BigInt(Math.floor(timeMs / 1000)));
    const signed = `cosignature/v1\ntime ${time.readBigUInt64BE()}\n${text}`;
    const signature = sign(null, Buffer.from(signed), this.#key);
    return `${note}— ${this.name} ${Buffer.concat([parseVkey(this.vkey).id, time, signature]).toString('base64')}\n`;
  }
}

/** The nodes of a tree of these leaves. */
function nodesOf(leaves: readonly Buffer[]): Nodes {
  const known = new Map<string, Buffer>();
  const range = new CompactRange();
  for (const leaf of leaves) range.append(leaf, (level, index, hash) => known.set(`${level}/${index}`, hash));
  return (level, index) => {
    const hash = known.get(`${level}/${index}`);
    if (!hash) throw new Error(`no node ${level}/${index}`);
    return hash;
  };
}

/** A file as a stream has it, in chunks of this many bytes. */
export async function* chunksOf(text: string | Buffer, size = 64 * 1024): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
