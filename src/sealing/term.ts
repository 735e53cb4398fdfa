import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { ControlError } from '../contract/errors.js';
import { emptyFold } from '../control/fold.js';
import type { FoldSnapshots } from '../control/fold-image.js';
import type { SkippedRecords } from '../control/skipped.js';
import type { EventLog, LogRecord, Offsets } from '../event-log/event-log.js';
import { readRange } from '../event-log/read-range.js';
import { type Clock, isoTime } from '../platform/clock.js';
import { pause } from '../platform/waiting.js';
import { parseCheckpoint } from '../tlog/checkpoint.js';
import { sha256 } from '../tlog/hash.js';
import { rootAt } from '../tlog/merkle.js';
import { vkeyOf } from '../tlog/note.js';
import { nodesOf } from '../tree-store/tree-nodes.js';
import { TreeDiverged, type TreeStore } from '../tree-store/tree-store.js';
import {
  type ChainState,
  type Cut,
  checkpointEntry,
  counted,
  keyChangeText,
  keyNamed,
  logOf,
  originsOf,
} from './chain.js';
import type { KeptNotes } from './kept-notes.js';
import { LeafMaker } from './leaves.js';
import type { Publishable } from './publisher.js';
import type { SigningKeys } from './signing-keys.js';
import { type CutPlan, type SealedCut, Trees } from './trees.js';
import { UnsealedRecords } from './unsealed.js';
import type { Cosigner } from './witnesses.js';

const AGAIN_MS = 500;

/** How soon a cut follows a record whose proof somebody waits for. */
const URGENT_MS = 250;

export interface TermParts {
  readonly log: EventLog;
  readonly store: TreeStore;
  readonly snapshots: FoldSnapshots;
  readonly skipped?: SkippedRecords | undefined;
  readonly kept: KeptNotes;
  /** Undefined: checkpoints are published as soon as they are signed. */
  readonly cosigner?: Cosigner | undefined;
  /** Makes a key if there is none and none was ever used. Throws `SealingRefused` without one. */
  keys(origin: string, isFirst: boolean): SigningKeys;
  readonly clock: Clock;
  readonly intervalMs: number;
  /** Undefined: `svc-` and the identifier of the log. */
  readonly origin: string | undefined;
  readonly logger: Logger;
}

/** What a term tells of itself. */
export interface TermEvents {
  /** The keys, once the log and the trees were found to have one history with what was signed. */
  began(state: ChainState, trees: Trees, keys: SigningKeys): void;
  sealed(cut: Publishable): void;
  /** Why not all of the log is being sealed; undefined if it is. */
  stalled(reason: string | undefined): void;
}

/** Nothing may be signed, until an operator has decided what is right. */
export class SealingRefused extends Error {
  override readonly name = 'SealingRefused';
}

/** Another process has added to the chain what this one did not expect: the term begins anew. */
class Superseded extends Error {
  override readonly name = 'Superseded';
}

interface PreparedCut {
  readonly hash: string;
  readonly sealed: SealedCut;
}

/**
 * A process seals for as long as it leads: it applies the cuts that the log has, and appends new ones. Two that lead at once
 * do no harm, since the log lets only one of their cuts count.
 */
export class SealingTerm {
  private state: ChainState | undefined;
  /** Next offset of `checkpoints`. */
  private next = 0;
  private trees!: Trees;
  private unsealed!: UnsealedRecords;

  constructor(
    private readonly parts: TermParts,
    private readonly events: TermEvents,
    private readonly signal: AbortSignal,
  ) {}

  /** Resolves when the signal aborts, or when another process was faster. */
  async run(): Promise<void> {
    try {
      await this.begin();
      const ended = new AbortController();
      const either = AbortSignal.any([this.signal, ended.signal]);
      const reading = this.unsealed.run(either);
      try {
        await Promise.race([this.lead(either), reading.then(() => new Promise<never>(() => undefined))]);
      } finally {
        ended.abort();
        await reading.catch(() => undefined);
      }
    } catch (error) {
      if (!(error instanceof Superseded)) throw error;
    }
  }

  private get chain(): ChainState {
    if (!this.state) throw new Error('the chain has not begun');
    return this.state;
  }

  private async begin(): Promise<void> {
    const { log, store, snapshots, skipped } = this.parts;
    const progress = await store.progress();
    if (progress) {
      this.state = JSON.parse(progress.memo) as ChainState;
      this.next = progress.offset;
      await this.requireOwnCut(progress.hash);
    }
    if (!this.state) await this.beginChain();
    await this.takeChanges();
    const { chain } = this;
    if (this.parts.origin !== undefined && this.parts.origin !== chain.genesis.origin) {
      throw new SealingRefused(
        `CONTROL_TLOG_ORIGIN is ${this.parts.origin}, but the log was begun as ${chain.genesis.origin}, which cannot be changed`,
      );
    }
    const fold = emptyFold();
    const sealedControl = chain.next['control/0'] ?? 0;
    const folded = await snapshots.load(fold, sealedControl);
    const leaves = new LeafMaker(Buffer.from(chain.genesis.secret, 'base64'), fold, skipped);
    await this.foldUpTo(leaves, folded, sealedControl);
    await this.requireWhole(log);
    this.trees = await this.unlessMoved(chain.n + 1, () => Trees.load(store, originsOf(chain), chain));
    this.unsealed = new UnsealedRecords(log, leaves, chain.next);
  }

  /** Throws if the log does not have the cut that was applied last: it is an older one, or another. */
  private async requireOwnCut(hash: Buffer): Promise<void> {
    const head = (await this.parts.log.head('checkpoints'))[0] ?? 0;
    const found = this.next < head ? await this.recordAt(this.next) : undefined;
    if (!found || !sha256(found.value).equals(hash)) {
      throw new SealingRefused(
        `checkpoints/0/${this.next} is not cut ${this.chain.n}, which was applied: the log is older than the trees, or was altered. ${REMEDY}`,
      );
    }
    this.next += 1;
  }

  /** Of epochs and keys: what follows the last cut that was applied. */
  private async takeChanges(): Promise<void> {
    for await (const record of this.appended()) {
      const found = counted(this.chain, record);
      if (found?.record.kind === 'cut') {
        this.next = record.offset;
        return;
      }
      if (found) this.state = found.state;
    }
  }

  private async recordAt(offset: number): Promise<LogRecord | undefined> {
    const range = readRange(this.parts.log, 'checkpoints', { 0: offset }, { 0: offset + 1 }, this.signal);
    for await (const { records } of range) return records[0];
    return undefined;
  }

  /** The first genesis counts, whoever appended it. */
  private async beginChain(): Promise<void> {
    const { log, clock, keys } = this.parts;
    const isBegun = async () => {
      for await (const record of this.appended()) {
        this.state = counted(undefined, record)?.state;
        if (this.state) return true;
      }
      return false;
    };
    while (!(await isBegun())) {
      const origin = this.parts.origin ?? `svc-${log.id}`;
      await this.requireNothingSigned();
      const service = originsOf({ genesis: { origin }, epoch: 1 }).service;
      const vkey = vkeyOf(service, keys(service, true).newest.publicKey);
      const secret = randomBytes(32).toString('base64');
      const at = isoTime(clock.now());
      await this.append(checkpointEntry({ kind: 'genesis', origin, epoch: 1, secret, log: log.id, vkey, at }));
    }
  }

  private async requireNothingSigned(): Promise<void> {
    const last = await this.parts.kept.last();
    if (last === undefined) return;
    throw new SealingRefused(`the log has no checkpoints, but some were signed: it is another log. ${REMEDY}`);
  }

  /** The records from `next` on, up to the head. Moves `next`. */
  private async *appended(): AsyncGenerator<LogRecord> {
    const end = await this.parts.log.head('checkpoints');
    for await (const { records } of readRange(this.parts.log, 'checkpoints', { 0: this.next }, end, this.signal)) {
      for (const record of records) {
        this.next = record.offset + 1;
        yield record;
      }
    }
  }

  /** An outcome that is unknown shows in the log. */
  private async append(entry: Parameters<EventLog['append']>[0][number]): Promise<void> {
    try {
      await this.parts.log.append([entry]);
    } catch (error) {
      if (!(error instanceof ControlError)) throw error;
      this.events.stalled(error.message);
      await pause(AGAIN_MS, this.signal);
    }
    this.signal.throwIfAborted();
  }

  private async foldUpTo(leaves: LeafMaker, from: number, to: number): Promise<void> {
    for await (const { records } of readRange(this.parts.log, 'control', { 0: from }, { 0: to }, this.signal)) {
      for (const record of records) leaves.of(record);
    }
  }

  /** Throws if the log ends before what was sealed, or begins behind it. */
  private async requireWhole(log: EventLog): Promise<void> {
    for (const topic of ['audit', 'control'] as const) {
      const [heads, beginnings] = [await log.head(topic), await log.beginning(topic)];
      for (const [partition, head] of Object.entries(heads)) {
        const sealed = this.chain.next[`${topic}/${partition}`] ?? 0;
        const beginning = beginnings[Number(partition)] ?? 0;
        if (head >= sealed && beginning <= sealed) continue;
        const has = head < sealed ? `ends at ${head}` : `begins at ${beginning}`;
        throw new SealingRefused(`${topic}/${partition} ${has}, but was sealed up to ${sealed}. ${REMEDY}`);
      }
    }
  }

  private async lead(signal: AbortSignal): Promise<void> {
    await this.takeAppended(undefined, signal);
    const { chain } = this;
    this.requireOriginal();
    await this.requireConsistent();
    const { service } = originsOf(chain);
    const keys = this.parts.keys(service, false);
    await this.changeKey(keys, service, signal);
    this.events.began(this.chain, this.trees, keys);
    while (!signal.aborted) {
      if (await this.isDue(signal)) await this.cut(signal);
      this.events.stalled(this.unsealed.stalledBecause);
    }
  }

  /** Records a key that has replaced the one before. */
  private async changeKey(keys: SigningKeys, service: string, signal: AbortSignal): Promise<void> {
    const vkey = vkeyOf(service, keys.newest.publicKey);
    for (;;) {
      const { last, keys: known } = this.chain;
      const expected = keyNamed(known.at(-1)?.vkey ?? '', service);
      if (expected === vkey) return;
      const before = keys.named(expected, service);
      if (!before) {
        throw new SealingRefused(`the key that signs checkpoints is not ${expected}: put that one back. ${REMEDY}`);
      }
      const note = before.signNote(service, keyChangeText(vkey));
      await this.append(checkpointEntry({ kind: 'key', prev: last, vkey, note }));
      await this.takeAppended(undefined, signal);
    }
  }

  /** Throws if the topics were copied, and no epoch says so: what was signed for the log they come from is not known here. */
  private requireOriginal(): void {
    const [of, is] = [logOf(this.chain), this.parts.log.id];
    if (of === is) return;
    throw new SealingRefused(
      `checkpoints are of the log ${of}, and this is ${is}: a copy, of which records may be missing. ${REMEDY}`,
    );
  }

  /** Throws if the trees do not extend what was signed last. */
  private async requireConsistent(): Promise<void> {
    const { chain } = this;
    const last = await this.parts.kept.last();
    if (last === undefined || last === chain.formerNote) return;
    const { origin, size, root } = parseCheckpoint(last.slice(0, last.indexOf('\n\n') + 1));
    const { service } = originsOf(chain);
    if (origin !== service) {
      throw new SealingRefused(`the last signed checkpoint is one of ${origin}, not of ${service}. ${REMEDY}`);
    }
    if (size > chain.n) {
      throw new SealingRefused(`${size} cuts were signed, but the log has ${chain.n}: it is an older one. ${REMEDY}`);
    }
    const found = await rootAt(size, nodesOf(this.parts.store, 'service', chain.n));
    if (found.equals(root)) return;
    throw new SealingRefused(`cut ${size} was signed with another root than the log has: it was altered. ${REMEDY}`);
  }

  /** Applies what counts of the records up to the head; of an own cut, what was prepared. */
  private async takeAppended(prepared: PreparedCut | undefined, signal: AbortSignal): Promise<boolean> {
    for await (const record of this.appended()) {
      const found = counted(this.chain, record);
      if (!found && prepared && sha256(record.value).toString('base64') === prepared.hash) {
        throw new Error(`cut ${this.chain.n + 1} does not count: the clock of this process is ahead of the log's`);
      }
      if (!found) continue;
      if (found.record.kind !== 'cut') {
        if (found.state.epoch !== this.chain.epoch || prepared) {
          this.state = found.state;
          throw new Superseded();
        }
        this.state = found.state;
        continue;
      }
      if (prepared && found.state.last !== prepared.hash) throw new Superseded();
      const sealed = prepared?.sealed ?? (await this.recomputed(found.record, found.state, signal));
      this.state = found.state;
      await this.apply(sealed, record.offset);
      if (prepared) return true;
    }
    return false;
  }

  private async recomputed(cut: Cut, { next }: ChainState, signal: AbortSignal): Promise<SealedCut> {
    await requireThere(this.parts.log, next);
    await this.unsealed.reached(next, signal);
    signal.throwIfAborted();
    const { n, at, complete } = cut;
    return this.unlessMoved(n, async () => {
      const sealed = await this.trees.seal({ n, at, complete, next }, this.unsealed.take(next));
      requireSame(cut, sealed.roots);
      return sealed;
    });
  }

  /** If the store does not have the cut before `n` any more, another process moved it, or it was lost: nothing has diverged. */
  private async unlessMoved<Result>(n: number, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      const stored = error instanceof TreeDiverged ? await this.parts.store.progress() : undefined;
      throw error instanceof TreeDiverged && (stored?.n ?? 0) !== n - 1 ? new Superseded() : error;
    }
  }

  private async apply({ changes }: SealedCut, offset: number): Promise<void> {
    const { chain } = this;
    const { n, next, last } = chain;
    const hash = Buffer.from(last, 'base64');
    const memo = JSON.stringify(chain);
    await this.parts.store.apply({ log: this.parts.log.id, n, hash, next, offset, memo, ...changes });
    this.events.sealed({ state: chain, heads: changes.heads });
  }

  /** Whether an epoch has no cut yet. Its names are signed for from the first one on, so that one waits for no event. */
  private get isEpochBare(): boolean {
    const { n, since } = this.chain;
    return n > 0 && n === since;
  }

  /** Whether a cut is to be made now; waits until something happens. */
  private async isDue(signal: AbortSignal): Promise<boolean> {
    if (this.isEpochBare) return true;
    const { waitingSince, isFull, isUrgent } = this.unsealed;
    if (waitingSince === undefined) {
      await this.unsealed.changed(signal);
      return false;
    }
    const due = waitingSince + Math.min(this.parts.intervalMs, isUrgent ? URGENT_MS : Number.POSITIVE_INFINITY);
    const left = due - performance.now();
    if (isFull || left <= 0) return true;
    const woken = new AbortController();
    const either = AbortSignal.any([signal, woken.signal]);
    await Promise.race([pause(left, either, { ref: false }), this.unsealed.becameUrgent(either)]);
    woken.abort();
    return false;
  }

  private async cut(signal: AbortSignal): Promise<void> {
    const { chain, unsealed } = this;
    const plan = await this.plan();
    const moved = Object.entries(plan.next).filter(([name, end]) => this.isEpochBare || end > (chain.next[name] ?? 0));
    if (moved.length === 0) return;
    const sealed = await this.unlessMoved(plan.n, () => this.trees.seal(plan, unsealed.take(plan.next)));
    const { n, at, complete } = plan;
    const next = Object.fromEntries(moved);
    const cut: Cut = { kind: 'cut', n, prev: chain.last, at, complete, next, ...sealed.roots };
    const entry = checkpointEntry(cut);
    const prepared = { hash: sha256(entry.value).toString('base64'), sealed };
    for (;;) {
      await this.append(entry);
      if (await this.takeAppended(prepared, signal)) return;
    }
  }

  private async plan(): Promise<CutPlan> {
    const { chain, unsealed } = this;
    const { log, clock } = this.parts;
    const asked = clock.now();
    const heads: Record<'audit' | 'control', Offsets> = {
      audit: await log.head('audit'),
      control: await log.head('control'),
    };
    const next = { ...chain.next, ...unsealed.next };
    const before = unsealed.completeBefore(heads, asked, chain.next);
    const at = Math.max(chain.at, clock.now());
    return { n: chain.n + 1, at, complete: Math.min(at, Math.max(chain.complete, before)), next };
  }
}

const REMEDY =
  'If an earlier state was restored, record it: npm run restore -- --new-epoch "reason"; otherwise keep all files and compare them with a backup';

/** Throws `TreeDiverged` if the log ends before what was sealed. */
export async function requireThere(log: EventLog, sealed: ChainState['next']): Promise<void> {
  const missing: [string, number, number][] = [];
  for (const topic of ['audit', 'checkpoints', 'control'] as const) {
    const heads = await log.head(topic);
    for (const [name, end] of Object.entries(sealed)) {
      const head = heads[Number(name.slice(topic.length + 1))] ?? 0;
      if (name.startsWith(`${topic}/`) && head < end) missing.push([name, head, end]);
    }
  }
  if (missing.length === 0) return;
  const ends = missing.map(([name, head]) => `${name}/${head}`).join(', ');
  const sealedTo = missing.map(([name, , end]) => `${name}/${end}`).join(', ');
  throw new TreeDiverged(`the log ends at ${ends}, but was sealed up to ${sealedTo}. ${REMEDY}`);
}

export function requireSame(cut: Cut, roots: SealedCut['roots']): void {
  for (const name of ['orgs', 'digest', 'unreadable', 'directory', 'size', 'root'] as const) {
    if (cut[name] === roots[name]) continue;
    throw new TreeDiverged(
      `cut ${cut.n} recorded ${name} ${cut[name]}, but the log gives ${roots[name]}: a record that it covers was altered, removed or inserted`,
    );
  }
}
