import type { EventLog, LogRecord, Offsets } from '../event-log/event-log.js';
import { Slices } from '../platform/slices.js';
import { pause } from '../platform/waiting.js';
import { type LeafMaker, NotSealable, type Sealable } from './leaves.js';
import type { Sealing } from './trees.js';

/** More is not read before a cut has taken what is there: a cut is one transaction of the store, whose commit holds the event loop. */
const MOST_RECORDS = 20_000;

/** How often a record that cannot be sealed is tried again. */
const AGAIN_MS = 1_000;

const SEALED_TOPICS = ['control', 'audit'] as const;
type SealedTopic = (typeof SEALED_TOPICS)[number];

interface Waiting {
  readonly topic: SealedTopic;
  readonly partition: number;
  records: Sealable[];
  /** Where reading continues. */
  next: number;
  lastTime: number;
}

/** The leaves of the records that no cut covers yet, read ahead. */
export class UnsealedRecords {
  private readonly partitions = new Map<string, Waiting>();
  private readonly waiting = new Set<() => void>();
  private count = 0;
  /** What a cut that exists already needs, whatever is waiting: by `topic/partition`. */
  private goal: Readonly<Record<string, number>> = {};
  private firstAt: number | undefined;
  private urgent = false;
  private readonly stalled = new Map<SealedTopic, string>();

  constructor(
    private readonly log: EventLog,
    private readonly leaves: LeafMaker,
    private readonly from: Readonly<Record<string, number>>,
  ) {}

  /** Since when a record waits, by `performance.now()`. */
  get waitingSince(): number | undefined {
    return this.firstAt;
  }

  /** Whether somebody waits for the proof of a record here. */
  get isUrgent(): boolean {
    return this.urgent;
  }

  get isFull(): boolean {
    return this.count >= MOST_RECORDS;
  }

  /** Why a partition is not read on; undefined if all are. */
  get stalledBecause(): string | undefined {
    return this.stalled.values().next().value;
  }

  /** Resolves when the signal aborts. Rejects if the log cannot be read. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(SEALED_TOPICS.map((topic) => this.read(topic, signal)));
  }

  private async read(topic: SealedTopic, signal: AbortSignal): Promise<void> {
    const from: Record<number, number> = {};
    for (const [name, next] of Object.entries(this.from)) {
      const [of, partition] = name.split('/');
      if (of === topic) from[Number(partition)] = next;
    }
    const slices = new Slices();
    for await (const { partition, records, next } of this.log.read(topic, from, signal)) {
      const into = this.partition(topic, partition, from[partition] ?? 0);
      for (const record of records) {
        const sealable = this.sealable(record) ?? (await this.sealableLater(record, signal));
        if (!sealable) return;
        this.add(into, sealable, 'proof' in record.headers);
        if (slices.isOver) await slices.pause();
      }
      into.next = next;
      this.wake();
      while (this.isFull && !signal.aborted && !this.isWanted(topic)) await this.changed(signal);
      if (signal.aborted) return;
    }
  }

  /** Undefined if this version cannot seal it. */
  private sealable(record: LogRecord): Sealable | undefined {
    try {
      return this.leaves.of(record);
    } catch (error) {
      if (!(error instanceof NotSealable)) throw error;
      this.stalled.set(record.topic as SealedTopic, error.message);
      this.wake();
      return undefined;
    }
  }

  /** Waits at a record that this version cannot seal until the process ends: a later version seals it. */
  private async sealableLater(record: LogRecord, signal: AbortSignal): Promise<Sealable | undefined> {
    while (!signal.aborted) {
      await pause(AGAIN_MS, signal, { ref: false });
      const sealable = this.sealable(record);
      if (sealable) return sealable;
    }
    return undefined;
  }

  private partition(topic: SealedTopic, partition: number, next: number): Waiting {
    const name = `${topic}/${partition}`;
    const known = this.partitions.get(name);
    if (known) return known;
    const made: Waiting = { topic, partition, records: [], next, lastTime: 0 };
    this.partitions.set(name, made);
    return made;
  }

  private add(into: Waiting, record: Sealable, isAwaited: boolean): void {
    into.records.push(record);
    into.next = record.offset + 1;
    into.lastTime = record.time;
    this.count += 1;
    this.firstAt ??= performance.now();
    if (!isAwaited) return;
    this.urgent = true;
    this.wake();
  }

  /** The next offset of every partition that has been read. */
  get next(): Readonly<Record<string, number>> {
    return Object.fromEntries(Array.from(this.partitions, ([name, { next }]) => [name, next]));
  }

  /** Before which time everything was read, if `heads` were asked for at `asked`; of partitions that are not known, nothing was. */
  completeBefore(
    heads: Readonly<Record<SealedTopic, Offsets>>,
    asked: number,
    sealed: Readonly<Record<string, number>>,
  ): number {
    const times = SEALED_TOPICS.flatMap((topic) =>
      Object.entries(heads[topic]).map(([partition, head]) => {
        const name = `${topic}/${partition}`;
        const read = this.partitions.get(name);
        return (read?.next ?? sealed[name] ?? 0) >= head ? asked : (read?.lastTime ?? 0);
      }),
    );
    return Math.min(...times);
  }

  /** Resolves when everything before these offsets was read, or the signal aborts. */
  async reached(next: Readonly<Record<string, number>>, signal: AbortSignal): Promise<void> {
    this.goal = next;
    this.wake();
    while (!signal.aborted && Object.keys(this.behind).length > 0) await this.changed(signal);
    this.goal = {};
  }

  private get behind(): Readonly<Record<string, number>> {
    const missing = Object.entries(this.goal).filter(
      ([name, end]) => (this.partitions.get(name)?.next ?? this.from[name] ?? 0) < end,
    );
    return Object.fromEntries(missing);
  }

  private isWanted(topic: SealedTopic): boolean {
    return Object.keys(this.behind).some((name) => name.startsWith(`${topic}/`));
  }

  /** Takes the records before these offsets out, in the order of a cut. */
  take(next: Readonly<Record<string, number>>): Sealing[] {
    const taken: Sealing[] = [];
    for (const partition of this.inOrder()) {
      const end = next[`${partition.topic}/${partition.partition}`] ?? 0;
      const { records } = partition;
      const found = records.findIndex(({ offset }) => offset >= end);
      const count = found < 0 ? records.length : found;
      if (count === 0) continue;
      taken.push({ topic: partition.topic, partition: partition.partition, records: records.slice(0, count) });
      partition.records = records.slice(count);
      this.count -= count;
    }
    this.firstAt = this.count > 0 ? performance.now() : undefined;
    this.urgent = false;
    this.wake();
    return taken;
  }

  private inOrder(): Waiting[] {
    const rank = ({ topic, partition }: Waiting) => SEALED_TOPICS.indexOf(topic) * 1e6 + partition;
    return [...this.partitions.values()].sort((one, other) => rank(one) - rank(other));
  }

  /** Resolves when a cut should not wait for the interval, or the signal aborts. */
  async becameUrgent(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.isUrgent && !this.isFull) await this.changed(signal);
  }

  /** Resolves when something was read or taken, or the signal aborts. */
  changed(signal: AbortSignal): Promise<void> {
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

  private wake(): void {
    for (const wake of [...this.waiting]) wake();
  }
}
