import { ControlError } from '../contract/errors.js';
import { deadRecordOf } from '../event-log/dead-letter.js';
import { type EventLog, type LogRecord, type Offsets, UnreadableRecord } from '../event-log/event-log.js';
import { readRange } from '../event-log/read-range.js';
import { type Clock, isoTime } from '../platform/clock.js';
import { within } from '../platform/waiting.js';
import { orgSecret } from '../tlog/leaf.js';
import { parseEntryBundle, TILE_WIDTH } from '../tlog/tile.js';
import type { TreeStore } from '../tree-store/tree-store.js';
import { type ChainState, originsOf } from './chain.js';
import {
  type HeadProof,
  type Origins,
  type RecordPlace,
  requireSealing,
  type SealedHistory,
  type SigningKey,
} from './history.js';
import type { TlogStatus } from './status.js';

/** What follows from what is known of the chain, whoever seals. */
export abstract class KnownHistory implements SealedHistory {
  /** As of the last record that counts. */
  protected state: ChainState | undefined;
  /** As of the last published cut. */
  protected last: ChainState | undefined;
  /** Why nothing is sealed any more, as far as this process knows. */
  refusal: string | undefined;
  private readonly waiting = new Set<() => void>();
  private readonly startedAt: number;

  constructor(
    readonly store: TreeStore,
    private readonly log: EventLog,
    private readonly clock: Clock,
    /** First part of all names, before the log says it. */
    private readonly origin: string | undefined,
  ) {
    this.startedAt = clock.now();
  }

  abstract headProof(number: number): Promise<HeadProof | undefined>;

  get origins(): Origins {
    return originsOf(this.state ?? { genesis: { origin: this.origin ?? `svc-${this.log.id}` }, epoch: 1 });
  }

  get epoch(): number {
    return this.state?.epoch ?? 1;
  }

  /** The last published checkpoint of the service log. */
  get published(): TlogStatus['checkpoint'] {
    if (!this.last) return undefined;
    const { n: size, at, complete } = this.last;
    return { size, at: isoTime(at), complete: isoTime(complete) };
  }

  async vkeys(): Promise<readonly SigningKey[]> {
    return this.state?.keys ?? [];
  }

  async orgSecret(org: string): Promise<Buffer> {
    requireSealing(this);
    if (!this.state) throw new ControlError('not_integrated', 'the log is not sealed yet; try again');
    return orgSecret(Buffer.from(this.state.genesis.secret, 'base64'), org);
  }

  async *unindexed(): AsyncGenerator<RecordPlace> {
    const { log } = this;
    const never = new AbortController().signal;
    for await (const { records } of readRange(log, 'audit.dead', {}, await log.head('audit.dead'), never)) {
      for (const record of records) yield* placeIn(record);
    }
  }

  async sealed({ topic, partition, offset }: RecordPlace, timeoutMs: number): Promise<boolean> {
    const isSealed = () => (this.last?.next[`${topic}/${partition}`] ?? 0) > offset;
    if (isSealed()) return true;
    const { promise, resolve } = Promise.withResolvers<true>();
    const wake = () => isSealed() && resolve(true);
    this.waiting.add(wake);
    try {
      return await within(timeoutMs, promise, false);
    } finally {
      this.waiting.delete(wake);
    }
  }

  /** Age of the oldest record that no published cut covers, at most; 0 if there is none, or nobody seals. `heads` by topic. */
  lagMs(heads: Readonly<Record<'audit' | 'control', Offsets>>): number {
    const { next = {}, complete = this.startedAt } = this.last ?? {};
    const isCovered = Object.entries(heads).every(([topic, offsets]) =>
      Object.entries(offsets).every(([partition, head]) => (next[`${topic}/${partition}`] ?? 0) >= head),
    );
    return isCovered || !this.state ? 0 : Math.max(0, this.clock.now() - complete);
  }

  protected wake(): void {
    for (const wake of [...this.waiting]) wake();
  }

  /** Resolves at the next `wake`, or when the signal aborts. */
  protected changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}

/** Of the record that a dead letter is about. Nothing for one of another topic, and for what somebody else appended. */
function placeIn(record: LogRecord): RecordPlace[] {
  try {
    const dead = deadRecordOf(record);
    if (dead.says !== 'dead' || dead.letter.topic !== 'audit') return [];
    const { partition, offset } = dead.letter;
    return [{ topic: 'audit', partition, offset }];
  } catch (error) {
    if (error instanceof UnreadableRecord) return [];
    throw error;
  }
}

/** What the service log has of a cut. */
export async function serviceEntry(store: TreeStore, cut: number): Promise<string> {
  const bundle = await store.bundle('service', Math.floor((cut - 1) / TILE_WIDTH));
  const entry = bundle && parseEntryBundle(bundle)[(cut - 1) % TILE_WIDTH];
  if (!entry) throw new Error(`the service log has no entry of cut ${cut}`);
  return entry.toString();
}
