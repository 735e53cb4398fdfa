import { setTimeout as delay } from 'node:timers/promises';
import { type PartitionAssigner, PartitionAssigners } from 'kafkajs';
import type { Consumer } from '../event-log.js';
import { KafkaClient } from './client.js';
import { KafkaFault } from './faults.js';
import { type FeedOptions, TopicFeed } from './feed.js';
import type { Settings } from './options.js';

/** Of failed attempts to join. */
const RETRY_MS = { first: 100, most: 5_000 };

/** Without a heartbeat for this long, the group gives a member's partitions to others. */
const SESSION_MS = 10_000;

/** How long the group waits until all its members have joined again. */
const REBALANCE_MS = 30_000;

const BEAT_MS = 1_000;

/** How long kafkajs sleeps between two looks at partitions, all of which are paused. */
const PAUSED_MS = 500;

/** How long a leaving member keeps its partitions to finish its batches, and how long it tries to notify the group. */
const RELEASE_MS = 5_000;
const LEAVE_MS = 2_000;

/** Of kafkajs while the session lasts. */
const KEEP = { retries: 5, initialRetryTime: 100, maxRetryTime: 1_000, restartOnFailure: async () => false };

/** The name by which earlier versions share out the partitions: a group takes only members that have one in common. */
const roundRobin: PartitionAssigner = (config) => ({ ...PartitionAssigners.roundRobin(config), name: 'round-robin' });

/**
 * Consumes a topic as one process of a group. kafkajs's consumer is the member: it joins, sends heartbeats and leaves. All
 * its partitions are paused, because `TopicFeed` reads them; so heartbeats do not depend on how long `handle` takes, and no
 * offsets are committed. When the group shares out the partitions anew, a `handle` that still runs may overlap with the
 * new owner's. A partition that comes back is not handed over before its earlier `handle` has ended. Only errors of the
 * consumer, and of the content of the log, end it.
 */
export class GroupConsumer {
  private readonly stop = new AbortController();
  private readonly inHand = new Map<number, Promise<void>>();
  private failure: { readonly error: unknown } | undefined;
  private readonly group: string;
  /** Before the next attempt to join. */
  private waitMs = RETRY_MS.first;

  constructor(
    private readonly settings: Settings,
    private readonly options: FeedOptions,
    private readonly consumer: Consumer,
  ) {
    this.group = settings.topicPrefix + consumer.group;
  }

  /** Resolves when the signal aborts and the last `handle` is done. */
  async run(signal: AbortSignal): Promise<void> {
    const end = AbortSignal.any([signal, this.stop.signal]);
    const { logger, topic } = this.options;
    while (!end.aborted) {
      try {
        await this.member(end);
      } catch (error) {
        if (end.aborted) break;
        const facts = { reason: (error as Error).message, topic, group: this.group, wait: this.waitMs };
        logger.warn(facts, 'the group cannot be joined; trying again');
        await delay(this.waitMs, undefined, { signal: end }).catch(() => undefined);
        this.waitMs = Math.min(this.waitMs * 2, RETRY_MS.most);
      }
    }
    await Promise.all(this.inHand.values());
    if (this.failure) throw this.failure.error;
  }

  /** Resolves at the end, or to join anew for more partitions; rejects when the membership is lost. */
  private async member(end: AbortSignal): Promise<void> {
    const { kafka, logger, topic } = this.options;
    const grown = this.options.grown();
    const client = new KafkaClient(this.settings);
    const member = client.kafka.consumer({
      groupId: this.group,
      partitionAssigners: [roundRobin],
      sessionTimeout: SESSION_MS,
      rebalanceTimeout: REBALANCE_MS,
      heartbeatInterval: BEAT_MS,
      maxWaitTimeInMs: PAUSED_MS,
      allowAutoTopicCreation: false,
      retry: KEEP,
    });
    const { promise: over, resolve, reject } = Promise.withResolvers<void>();
    over.catch(() => undefined);
    let owned = new AbortController();
    let lapse: NodeJS.Timeout | undefined;
    const release = () => {
      clearTimeout(lapse);
      owned.abort();
    };
    member.on(member.events.GROUP_JOIN, ({ payload }) => {
      member.pause([{ topic: kafka.name }]);
      release();
      owned = new AbortController();
      if (end.aborted) return;
      lapse = setTimeout(() => reject(new KafkaFault('the session ran out', true)), SESSION_MS);
      const partitions = (payload.memberAssignment[kafka.name] ?? []).toSorted((a, b) => a - b);
      logger.info({ topic, group: this.group, partitions }, 'partitions are assigned');
      this.waitMs = RETRY_MS.first;
      void this.work(partitions, owned.signal);
    });
    member.on(member.events.HEARTBEAT, () => lapse?.refresh());
    member.on(member.events.REBALANCING, release);
    member.on(member.events.CRASH, ({ payload }) => reject(payload.error));
    const ended = () => resolve();
    end.addEventListener('abort', ended);
    grown.addEventListener('abort', ended);
    try {
      const started = client
        .connect(() => member.connect())
        .then(async () => {
          await member.subscribe({ topics: [kafka.name] });
          await member.run({ autoCommit: false, eachBatch: async () => undefined });
        });
      await Promise.race([over, started.then(() => over)]);
    } finally {
      end.removeEventListener('abort', ended);
      grown.removeEventListener('abort', ended);
      release();
      await Promise.race([Promise.all(this.inHand.values()), delay(RELEASE_MS, undefined, { ref: false })]);
      await Promise.race([member.disconnect().catch(() => undefined), delay(LEAVE_MS, undefined, { ref: false })]);
      client.close();
    }
  }

  /** Never rejects: `failure` says what ended it. */
  private async work(partitions: readonly number[], signal: AbortSignal): Promise<void> {
    try {
      const from = await this.consumer.assigned(partitions);
      if (partitions.length === 0 || signal.aborted) return;
      const feed = new TopicFeed(this.options, partitions, from);
      const fed = feed.run(signal);
      await Promise.all(partitions.map((partition) => this.handOver(feed, partition, signal)));
      await fed;
    } catch (error) {
      this.fail(error);
    }
  }

  private fail(error: unknown): void {
    this.failure ??= { error };
    this.stop.abort();
  }

  private async handOver(feed: TopicFeed, partition: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      // It may have been handed over in an earlier assignment.
      await this.inHand.get(partition);
      const batch = await feed.take(signal, partition);
      if (!batch) return;
      const handled = this.consumer.handle(batch).catch((error) => this.fail(error));
      this.inHand.set(partition, handled);
      await handled;
      this.inHand.delete(partition);
    }
  }
}
