import { setTimeout as delay } from 'node:timers/promises';
import type { Consumer } from '../event-log.js';
import { type FeedOptions, TopicFeed } from './feed.js';
import { GroupMember, SESSION_MS } from './group.js';

const RETRY_MS = { first: 100, most: 5_000 };

/** How soon a member learns that the group shares out its partitions anew. */
const BEAT_MS = 1_000;

/** How long the others of the group wait for what this process has in hand. */
const REVOKE_MS = 5_000;

/**
 * Consumes a topic as one process of a group. Heartbeats do not depend on how long `handle` takes. When the group shares
 * out anew, what is in hand may end first, for a while; then the partitions go, and a `handle` that still runs may
 * overlap with the new owner's. A partition that comes back is not handed over before its earlier `handle` has ended.
 * Only what cannot be waited out ends it: errors of the consumer, and of what stands in the log.
 */
export class GroupConsumer {
  private readonly stop = new AbortController();
  private readonly inHand = new Map<number, Promise<void>>();
  private failure: { readonly error: unknown } | undefined;
  private readonly member: GroupMember;

  constructor(
    private readonly options: FeedOptions,
    private readonly group: string,
    private readonly consumer: Consumer,
  ) {
    this.member = new GroupMember({ group, topic: options.kafka, connect: options.connect });
  }

  /** Resolves when the signal aborts and the last `handle` is done. */
  async run(signal: AbortSignal): Promise<void> {
    const end = AbortSignal.any([signal, this.stop.signal]);
    const { logger, topic } = this.options;
    let wait = RETRY_MS.first;
    while (!end.aborted) {
      try {
        const partitions = await this.member.join(end);
        if (end.aborted) break;
        logger.info({ topic, group: this.group, partitions }, 'partitions are assigned');
        wait = RETRY_MS.first;
        await this.own(partitions, end);
      } catch (error) {
        if (end.aborted) break;
        logger.warn(
          { reason: (error as Error).message, topic, group: this.group, wait },
          'the group cannot be joined; trying again',
        );
        await delay(wait, undefined, { signal: end }).catch(() => undefined);
        wait = Math.min(wait * 2, RETRY_MS.most);
      }
    }
    await this.member.leave();
    await Promise.all(this.inHand.values());
    if (this.failure) throw this.failure.error;
  }

  /** Works until the partitions are taken away, or the end. Never rejects. */
  private async own(partitions: readonly number[], end: AbortSignal): Promise<void> {
    const over = new AbortController();
    const abort = () => over.abort();
    end.addEventListener('abort', abort);
    void this.work(partitions, over.signal);
    await this.keep(end);
    end.removeEventListener('abort', abort);
    over.abort();
    const late = new AbortController();
    const inHand = Promise.all(this.inHand.values());
    await Promise.race([inHand, delay(REVOKE_MS, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
  }

  /** Sends heartbeats; resolves when the partitions are, or may be, no longer this process's. */
  private async keep(end: AbortSignal): Promise<void> {
    const { logger, topic } = this.options;
    let last = Date.now();
    while (!end.aborted) {
      await delay(BEAT_MS, undefined, { signal: end }).catch(() => undefined);
      try {
        if (end.aborted || !(await this.member.beat(end))) return;
        last = Date.now();
      } catch (error) {
        if (end.aborted || Date.now() - last >= SESSION_MS) return;
        logger.warn(
          { reason: (error as Error).message, topic, group: this.group },
          'the coordinator of the group does not answer',
        );
      }
    }
  }

  /** Never rejects: `failure` is what ended it. */
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
