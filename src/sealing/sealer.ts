import type { Logger } from 'pino';
import { ControlError } from '../contract/errors.js';
import type { Offsets } from '../event-log/event-log.js';
import { diskFault } from '../platform/sqlite.js';
import { pause } from '../platform/waiting.js';
import { leafHash } from '../tlog/hash.js';
import { inclusionPath } from '../tlog/merkle.js';
import { nodesOf } from '../tree-store/tree-nodes.js';
import { type OrgHead, TreeDiverged } from '../tree-store/tree-store.js';
import { type ChainState, originsOf } from './chain.js';
import type { HeadProof } from './history.js';
import { KnownHistory, serviceEntry } from './known-history.js';
import { type PublishedCut, Publisher } from './publisher.js';
import type { SigningKeys } from './signing-keys.js';
import { SealingRefused, SealingTerm, type TermEvents, type TermParts } from './term.js';
import type { Trees } from './trees.js';

const GROUP = 'sealer';

/** How often a publication that is being stored is looked at, and how soon again. */
const MOST_LOOKS = 100;
const LOOK_MS = 10;
const AGAIN = { first: 200, most: 5_000 };

/** What operators see of it. */
export interface SealingStatus {
  /** Whether this process seals. */
  readonly leads: boolean;
  /** Why nothing is signed any more; an operator must decide. */
  readonly diverged?: string;
  /** Why a part of the log is not sealed. */
  readonly stalled?: string;
  /** Why sealing failed the last time; it is tried again. Names no organization. */
  readonly failing?: string;
  /** The last published cut, and before which time it has every record. */
  readonly cut?: number;
  readonly complete?: number;
}

/**
 * Seals the log: the process that leads makes cuts, and signs and publishes what counts. Publishing events never waits for
 * it, and nothing that goes wrong here touches them.
 */
export class Sealer extends KnownHistory {
  private readonly logger: Logger;
  private term: AbortController | undefined;
  /** Of the term that runs, to be ended alone. */
  private attempt = new AbortController();
  /** Whether no term begins until a check of the trees has passed. */
  private isHalted = false;
  private shown: PublishedCut | undefined;
  private publisher: Publisher | undefined;
  private stalled: string | undefined;
  private failing: string | undefined;

  constructor(private readonly parts: TermParts) {
    super(parts.store, parts.log, parts.clock, parts.origin);
    this.logger = parts.logger;
  }

  get status(): SealingStatus {
    const { refusal: diverged, stalled, failing, last } = this;
    return {
      leads: this.term !== undefined,
      ...(diverged !== undefined && { diverged }),
      ...(stalled !== undefined && { stalled }),
      ...(failing !== undefined && { failing }),
      ...(last && { cut: last.n, complete: last.complete }),
    };
  }

  /** Resolves when the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    let terms: Promise<void> = Promise.resolve();
    const assigned = async (partitions: readonly number[]): Promise<Offsets> => {
      this.term?.abort();
      this.term = undefined;
      await terms;
      if (partitions.includes(0)) {
        this.term = new AbortController();
        terms = this.lead(AbortSignal.any([signal, this.term.signal]));
      }
      return this.parts.log.head('checkpoints');
    };
    while (!signal.aborted) {
      try {
        await this.parts.log.consume('checkpoints', { group: GROUP, assigned, handle: async () => undefined }, signal);
      } catch (err) {
        this.logger.warn({ err }, 'nobody can be chosen to seal the log; trying again');
        await pause(AGAIN.most, signal, { ref: false });
      }
    }
    this.term?.abort();
    await terms;
  }

  /** Ends the term: nothing is signed until a check passes, or until the next start. */
  halt(reason: string): void {
    if (this.isHalted) return;
    this.refuse(reason);
    this.attempt.abort();
  }

  /** A check of the trees has passed. If sealing was refused for another reason, the next term is refused again. */
  resume(): void {
    this.isHalted = false;
    this.wake();
  }

  /** One term after another, until the signal aborts; none while nothing may be signed. */
  private async lead(signal: AbortSignal): Promise<void> {
    for (let wait = AGAIN.first; !signal.aborted; ) {
      if (this.isHalted) {
        await this.changed(signal);
        continue;
      }
      this.attempt = new AbortController();
      try {
        await this.runTerm(AbortSignal.any([signal, this.attempt.signal]));
        wait = AGAIN.first;
      } catch (error) {
        if (signal.aborted || this.isHalted) continue;
        if (error instanceof SealingRefused || error instanceof TreeDiverged) {
          this.refuse(error.message);
          continue;
        }
        this.failing = reasonOf(error);
        this.logger.warn({ err: error }, 'the log could not be sealed; trying again');
        await pause(wait, signal, { ref: false });
        wait = Math.min(2 * wait, AGAIN.most);
      }
    }
  }

  private async runTerm(signal: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const either = AbortSignal.any([signal, ended.signal]);
    let publishing = Promise.resolve();
    let failure: unknown;
    const events: TermEvents = {
      began: (...begun) => {
        publishing = this.beginPublishing(begun, either).catch((error) => {
          failure = error;
          ended.abort();
        });
      },
      sealed: (cut) => {
        this.state = cut.state;
        this.publisher?.add(cut);
      },
      stalled: (reason) => this.setStalled(reason),
    };
    try {
      await new SealingTerm(this.parts, events, either).run();
    } finally {
      ended.abort();
      this.publisher = undefined;
      await publishing;
    }
    if (failure) throw failure;
  }

  private async beginPublishing(
    [state, trees, keys]: [ChainState, Trees, SigningKeys],
    signal: AbortSignal,
  ): Promise<void> {
    if (!this.isHalted) this.refusal = undefined;
    const { store, kept, cosigner } = this.parts;
    const { logger } = this;
    this.state = state;
    const directory = trees.directory.copy();
    const publisher = new Publisher({
      store,
      kept,
      cosigner,
      logger,
      keys,
      directory,
      published: (cut) => this.show(cut),
      failed: (error) => {
        this.failing = reasonOf(error);
      },
    });
    this.publisher = publisher;
    if (state.n > 0) publisher.add({ state, heads: await this.unpublished(state) });
    await publisher.run(signal);
  }

  /** The heads that were not published before this term, or under other names. */
  private async unpublished(state: ChainState): Promise<OrgHead[]> {
    const before = await this.store.published('service');
    const isRenamed = before && !before.note.startsWith(`${originsOf(state).service}\n`);
    const cut = before && !isRenamed ? before.cut : 0;
    const heads: OrgHead[] = [];
    for await (const head of this.store.heads()) if (head.cut > cut && head.cut <= state.n) heads.push(head);
    return heads;
  }

  private show(cut: PublishedCut): void {
    [this.shown, this.last, this.failing] = [cut, cut.state, undefined];
    this.wake();
  }

  /** `reason` names no organization: callers see it. */
  private refuse(reason: string): void {
    [this.isHalted, this.refusal] = [true, reason];
    this.logger.error({ reason }, 'the sealed history and the log differ; nothing is signed any more');
  }

  private setStalled(reason: string | undefined): void {
    if (reason !== undefined && reason !== this.stalled) {
      this.logger.error({ reason }, 'a part of the log cannot be sealed');
    }
    this.stalled = reason;
  }

  async headProof(number: number): Promise<HeadProof | undefined> {
    for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
      const { shown } = this;
      if (!shown || number >= shown.directory.size) return undefined;
      const { state, directory, note } = shown;
      const [orgs, leaf, directoryPath] = [directory.size, directory.leaf(number), directory.path(number)];
      const org = await this.store.published(number);
      const checkpoint = org?.note.slice(0, org.note.indexOf('\n\n') + 1) ?? '';
      if (leafHash(Buffer.from(checkpoint)).equals(leaf)) {
        const cut = state.n;
        const path = await inclusionPath(cut - 1, cut, nodesOf(this.store, 'service', cut));
        const entry = await serviceEntry(this.store, cut);
        return { cut, entry, checkpoint, number, orgs, directoryPath: await directoryPath, path, note };
      }
      // The notes of the next publication are being stored.
      await pause(LOOK_MS);
    }
    return undefined;
  }
}

/** For everybody: other messages may name an organization. */
function reasonOf(error: unknown): string {
  const fault = diskFault(error);
  if (fault === 'full') return 'the disk is full; free some space';
  // SQLite says so too of a full disk, of the file that it maps.
  if (fault === 'ioError' || fault === 'cannotOpen') return 'the disk is full, or fails; free some space, or check it';
  return error instanceof ControlError ? error.message : 'the log of the process tells why';
}
