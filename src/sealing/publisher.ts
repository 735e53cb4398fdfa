import type { Logger } from 'pino';
import { Slices } from '../platform/slices.js';
import { pause } from '../platform/waiting.js';
import { checkpointText } from '../tlog/checkpoint.js';
import type { OrgHead, Tree, TreeStore } from '../tree-store/tree-store.js';
import type { ChainState } from './chain.js';
import { originsOf } from './chain.js';
import type { Directory } from './directory.js';
import type { KeptNotes } from './kept-notes.js';
import type { SigningKeys } from './signing-keys.js';
import { headLeaf, headText } from './trees.js';
import type { Cosigner } from './witnesses.js';

const AGAIN_MS = 1_000;

/** A cut that counts and is stored, to be signed and shown. */
export interface Publishable {
  readonly state: ChainState;
  readonly heads: readonly OrgHead[];
}

/** A published cut, with the directory as of it. */
export interface PublishedCut {
  readonly state: ChainState;
  readonly note: string;
  readonly directory: Directory;
}

export interface Publishing {
  readonly store: TreeStore;
  readonly keys: SigningKeys;
  readonly kept: KeptNotes;
  /** Undefined: nobody must cosign. */
  readonly cosigner: Cosigner | undefined;
  readonly logger: Logger;
  /** Of the last published cut; changed by the publisher alone. */
  readonly directory: Directory;
  published(cut: PublishedCut): void;
  /** It is tried again. */
  failed(error: unknown): void;
}

/**
 * Signs what counts and is stored, and only what extends the last that it signed. Several cuts become one publication if
 * signing takes longer than sealing.
 */
export class Publisher {
  private newest: ChainState | undefined;
  private heads = new Map<number, OrgHead>();
  private wake: () => void = () => undefined;
  /** The last that was noted: it may wait for its cosignatures. */
  private signed: string | undefined;

  constructor(private readonly parts: Publishing) {}

  add({ state, heads }: Publishable): void {
    // A cut of an earlier epoch is not signed under the names of this one: its directory has those before.
    if (state.n > state.since && state.n >= (this.newest?.n ?? 0)) this.newest = state;
    for (const head of heads)
      if (head.cut >= (this.heads.get(head.number)?.cut ?? 0)) this.heads.set(head.number, head);
    this.wake();
  }

  /** Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { newest, heads } = this;
      if (!newest) {
        await this.added(signal);
        continue;
      }
      [this.newest, this.heads] = [undefined, new Map()];
      try {
        if (await this.publish(newest, heads, signal)) continue;
      } catch (err) {
        this.parts.failed(err);
        this.parts.logger.warn({ err, cut: newest.n }, 'a checkpoint could not be published; trying again');
      }
      for (const [number, head] of heads) if (!this.heads.has(number)) this.heads.set(number, head);
      this.newest ??= newest;
      await pause(AGAIN_MS, signal);
    }
  }

  /** Resolves with false if too few have cosigned. */
  private async publish(state: ChainState, heads: ReadonlyMap<number, OrgHead>, signal: AbortSignal): Promise<boolean> {
    const { store, keys, kept, cosigner, directory } = this.parts;
    const origins = originsOf(state);
    const text = checkpointText({ origin: origins.service, size: state.n, root: Buffer.from(state.root, 'base64') });
    const signed = keys.signNote(origins.service, text);
    if (signed !== this.signed) await kept.add(signed);
    this.signed = signed;
    const note = cosigner ? await cosigner.cosign(signed, signal) : signed;
    if (note === undefined) return false;
    const notes = new Map<Tree, string>([['service', note]]);
    const slices = new Slices();
    for (const head of heads.values()) {
      notes.set(head.number, keys.signNote(origins.org(head.org), headText(origins, head)));
      await slices.pause();
    }
    await store.publish(state.n, notes);
    for (const head of [...heads.values()].sort((one, other) => one.number - other.number)) {
      directory.set(head.number, headLeaf(origins, head));
    }
    this.parts.published({ state, note, directory });
    return true;
  }

  private added(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.wake = wake;
      signal.addEventListener('abort', wake);
    });
  }
}
