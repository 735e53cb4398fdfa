import { checkpointText } from '../../src/tlog/checkpoint.js';
import { leafHash } from '../../src/tlog/hash.js';
import { CompactRange, type Nodes } from '../../src/tlog/merkle.js';
import { NoteSigner } from '../../src/tlog/note.js';

/** A log in memory that signs its checkpoints, and can become another. */
export class SignedLog {
  readonly #levels: Buffer[][] = [];
  readonly #range = new CompactRange();

  constructor(
    readonly origin = 'audit.example/audit/-tlog',
    readonly signer = NoteSigner.generate(origin),
  ) {}

  append(...entries: readonly string[]): this {
    for (const entry of entries) {
      this.#range.append(leafHash(Buffer.from(entry)), (level, index, hash) => {
        this.#levels[level] ??= [];
        this.#levels[level][index] = hash;
      });
    }
    return this;
  }

  get size(): number {
    return this.#range.size;
  }

  readonly nodes = (): Nodes => (level, index) => {
    const node = this.#levels[level]?.[index];
    if (!node) throw new RangeError(`no node ${level}/${index}`);
    return node;
  };

  /** The signed checkpoint. */
  note(): string {
    const text = checkpointText({ origin: this.origin, size: this.size, root: this.#range.root() });
    return this.signer.signNote(this.origin, text);
  }
}
