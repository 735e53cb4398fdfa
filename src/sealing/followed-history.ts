import type { Logger } from 'pino';
import { ControlError } from '../contract/errors.js';
import type { EventLog, LogRecord } from '../event-log/event-log.js';
import type { Clock } from '../platform/clock.js';
import { pause, together } from '../platform/waiting.js';
import { leafHash } from '../tlog/hash.js';
import { inclusionPath } from '../tlog/merkle.js';
import { parseServiceEntry } from '../tlog/service-entry.js';
import { nodesOf } from '../tree-store/tree-nodes.js';
import { type TreeStore, TreesLost } from '../tree-store/tree-store.js';
import { type ChainState, counted, publishedIn } from './chain.js';
import { Directory } from './directory.js';
import type { HeadProof } from './history.js';
import { KnownHistory, serviceEntry } from './known-history.js';
import { headLeaf } from './trees.js';

/** How soon what was announced is looked up again. */
const LOOK = { first: 10, most: 1_000 };
const AGAIN_MS = 1_000;
const KEPT_STATES = 1_000;
const MOST_LOOKS = 100;

interface FollowedParts {
  readonly log: EventLog;
  /** Shared with the process that seals. */
  readonly store: TreeStore;
  readonly origin: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The sealed history as other processes seal it: what counts is read from `checkpoints`, where each publication is announced,
 * and what is published from the store that all share.
 */
export class FollowedHistory extends KnownHistory {
  /** By their cuts: the last ones, of which the published one is one or will be. */
  private readonly states = new Map<number, ChainState>();
  /** The last cut whose publication is under way or done. */
  private announced = 0;
  private directory: { readonly cut: number; readonly of: Directory } | undefined;

  constructor(private readonly parts: FollowedParts) {
    super(parts.store, parts.log, parts.clock, parts.origin);
  }

  /** Resolves when the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await together(signal, [(all) => this.follow(all), (all) => this.watch(all)]);
      } catch (err) {
        this.parts.logger.warn({ err }, 'the sealed history could not be followed; trying again');
        await pause(AGAIN_MS, signal, { ref: false });
      }
    }
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const { log, store } = this.parts;
    const progress = await store.progress().catch(ifLost);
    this.state = progress && (JSON.parse(progress.memo) as ChainState);
    if (this.state) this.keep(this.state);
    this.announced = this.state?.n ?? 0;
    this.wake();
    for await (const { records } of log.read('checkpoints', { 0: (progress?.offset ?? -1) + 1 }, signal)) {
      for (const record of records) this.take(record);
    }
  }

  private take(record: LogRecord): void {
    this.announced = Math.max(this.announced, Math.min(publishedIn(record)?.n ?? 0, this.state?.n ?? 0));
    const found = counted(this.state, record);
    if (found) this.keep(found.state);
    this.wake();
  }

  private keep(state: ChainState): void {
    this.state = state;
    this.states.set(state.n, state);
    for (const [oldest] of this.states) if (this.states.size > KEPT_STATES) this.states.delete(oldest);
  }

  /** Looks up what was announced until it is there: it is announced before it is stored. */
  private async watch(signal: AbortSignal): Promise<void> {
    for (let wait = LOOK.first; !signal.aborted; ) {
      if ((this.last?.n ?? 0) >= this.announced) {
        await this.changed(signal);
        wait = LOOK.first;
        continue;
      }
      await this.look().catch(refuseOthers);
      if ((this.last?.n ?? 0) >= this.announced) continue;
      await pause(wait, signal, { ref: false });
      wait = Math.min(2 * wait, LOOK.most);
    }
  }

  private async look(): Promise<void> {
    const { cut = 0 } = (await this.store.published('service')) ?? {};
    const state = this.states.get(cut);
    if (!state || cut <= (this.last?.n ?? 0)) return;
    this.last = state;
    for (const [n] of this.states) if (n < cut) this.states.delete(n);
    this.wake();
  }

  async headProof(number: number): Promise<HeadProof | undefined> {
    for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
      const service = await this.store.published('service');
      if (!service) return undefined;
      const { cut, note } = service;
      const entry = await serviceEntry(this.store, cut);
      const directory = await this.directoryAt(cut, entry);
      if (directory && number >= directory.size) return undefined;
      const org = directory && (await this.store.published(number));
      const checkpoint = org?.note.slice(0, org.note.indexOf('\n\n') + 1) ?? '';
      if (directory && leafHash(Buffer.from(checkpoint)).equals(directory.leaf(number))) {
        const [orgs, directoryPath] = [directory.size, await directory.path(number)];
        const path = await inclusionPath(cut - 1, cut, nodesOf(this.store, 'service', cut));
        return { cut, entry, checkpoint, number, orgs, directoryPath, path, note };
      }
      // A later cut was stored, or published, while this one was read.
      await pause(LOOK.first);
    }
    return undefined;
  }

  /** Undefined if the store has the heads of a later cut by now. Reads the heads of all organizations, once a cut. */
  private async directoryAt(cut: number, entry: string): Promise<Directory | undefined> {
    if (this.directory?.cut === cut) return this.directory.of;
    const { orgs, directory: root } = parseServiceEntry(entry);
    const directory = new Directory();
    for await (const head of this.store.heads()) {
      if (head.number < orgs) directory.set(head.number, headLeaf(this.origins, head));
    }
    if (directory.size !== orgs || !directory.root().equals(root)) return undefined;
    this.directory = { cut, of: directory };
    return directory;
  }
}

/** Then everything is read from the log. */
function ifLost(error: unknown): undefined {
  if (!(error instanceof TreesLost)) throw error;
}

/** The store may be away for a while. */
function refuseOthers(error: unknown): void {
  if (!(error instanceof ControlError)) throw error;
}
