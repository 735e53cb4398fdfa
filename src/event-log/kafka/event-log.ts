import { setTimeout as delay } from 'node:timers/promises';
import type { Batch, Consumer, EventLog, Forgetting, LogEntry, Offsets, Position, Topic } from '../event-log.js';
import { KafkaClient } from './client.js';
import { openFailure, unavailable } from './faults.js';
import { type FeedOptions, TopicFeed } from './feed.js';
import { GroupConsumer } from './group.js';
import { type Connect, KafkaLink } from './link.js';
import { DEFAULTS, type KafkaEventLogOptions, type Settings } from './options.js';
import { KafkaProducer } from './producer.js';
import { type KafkaTopic, type KafkaTopics, prepareTopics } from './topics.js';

/** How long `open` tries to reach a broker. */
const OPEN_MS = 5_000;

/** How long `head` tries. */
const HEAD_MS = 2_000;
const HEAD_AGAIN_MS = 50;

/** How often it looks for more partitions. */
const LOOK_MS = 1_000;

/** How long `close` waits for consumers. */
const CLOSE_MS = 3_000;

/**
 * The log in Kafka, one topic for each of its own. An append resolves when all replicas in sync have it: at least two,
 * unless the cluster is a single broker.
 *
 * `id` is made of the ids that Kafka gave to `control` and `audit` when they were made: a topic that is deleted and made
 * again is another log.
 *
 * Damage on a broker's disk is found by the CRC of its batch, so `CorruptRecord` is thrown for the whole batch: none of
 * the records that were appended together with the damaged one is returned.
 */
export class KafkaEventLog implements EventLog, Forgetting {
  readonly id: string;
  private readonly producer: KafkaProducer;
  /** For `head` and `watch`. */
  private queries: Promise<KafkaLink> | undefined;
  /** Aborts when `audit` has more partitions; then there is another. */
  private growth = new AbortController();
  private readonly closing = new AbortController();
  private readonly running = new Set<Promise<unknown>>();

  /**
   * Throws `StoreUnusable` if the topics are not as they must be, or the brokers refuse this client; `ControlError`
   * `log_unavailable` if no broker responds: then it may be tried again. Leaves no connection behind.
   */
  static async open(options: KafkaEventLogOptions): Promise<KafkaEventLog> {
    const settings = { ...DEFAULTS, ...options };
    try {
      return new KafkaEventLog(settings, await openTopics(settings));
    } catch (error) {
      throw openFailure(error);
    }
  }

  private constructor(
    private readonly settings: Settings,
    private readonly topics: KafkaTopics,
  ) {
    this.id = `${topics.control.id}-${topics.audit.id}`;
    this.producer = new KafkaProducer(settings, topics, this.connectTo(...Object.values(topics)));
    void this.track(this.watch());
  }

  private connectTo(...topics: KafkaTopic[]): Connect {
    return (signal) => KafkaLink.open(this.settings, topics, signal);
  }

  get pending(): EventLog['pending'] {
    return this.producer.pending;
  }

  append(entries: readonly LogEntry[]): Promise<Position[]> {
    return this.producer.append(entries);
  }

  async *read(topic: Topic, from: Offsets, signal: AbortSignal): AsyncGenerator<Batch> {
    const next: Record<number, number> = { ...from };
    const end = AbortSignal.any([signal, this.closing.signal]);
    while (!end.aborted) {
      const stop = new AbortController();
      const until = AbortSignal.any([end, stop.signal, this.growthOf(topic)]);
      const feed = new TopicFeed(this.feedOptions(topic), this.partitionsOf(topic), next);
      const fed = this.track(feed.run(until));
      try {
        for (let batch = await feed.take(until); batch; batch = await feed.take(until)) {
          next[batch.partition] = batch.next;
          yield batch;
        }
      } finally {
        stop.abort();
        await fed;
      }
    }
  }

  async consume(topic: Topic, consumer: Consumer, signal: AbortSignal): Promise<void> {
    const end = AbortSignal.any([signal, this.closing.signal]);
    await this.track(new GroupConsumer(this.settings, this.feedOptions(topic), consumer).run(end));
  }

  private feedOptions(topic: Topic): FeedOptions {
    const kafka = this.topics[topic];
    const grown = () => this.growthOf(topic);
    const beginsLate = this.beginsLate(topic);
    const { feedBytes, logger } = this.settings;
    return { topic, kafka, connect: this.connectTo(kafka), grown, beginsLate, feedBytes, logger };
  }

  private partitionsOf(topic: Topic): number[] {
    return Array.from({ length: this.topics[topic].partitions }, (_, partition) => partition);
  }

  private growthOf(topic: Topic): AbortSignal {
    return topic === 'audit' ? this.growth.signal : this.closing.signal;
  }

  /** Looks now and then whether an operator has added partitions, and has all who read them begin anew. Never rejects. */
  private async watch(): Promise<void> {
    const { audit } = this.topics;
    const { signal } = this.closing;
    while (!signal.aborted) {
      await delay(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined);
      const topics = await this.query(signal, (link) => link.describe([audit.name])).catch(() => undefined);
      const { partitions = 0 } = topics?.get(audit.name) ?? {};
      if (partitions <= audit.partitions) continue;
      this.settings.logger.info({ topic: audit.name, partitions, before: audit.partitions }, 'partitions were added');
      audit.partitions = partitions;
      this.drop(this.queries);
      const before = this.growth;
      this.growth = new AbortController();
      before.abort();
    }
  }

  head(topic: Topic): Promise<Offsets> {
    return this.offsets(topic, 'head');
  }

  async beginning(topic: Topic): Promise<Offsets> {
    return this.beginsLate(topic) ? this.offsets(topic, 'oldest') : {};
  }

  private beginsLate(topic: Topic): boolean {
    return topic === 'audit' && this.settings.deleteExpired;
  }

  async deleteBefore(ends: Offsets): Promise<void> {
    const { name } = this.topics.audit;
    const client = new KafkaClient(this.settings);
    const admin = client.kafka.admin();
    try {
      await client.connect(() => admin.connect());
      // Only this makes kafkajs look at the topic, without which it cannot delete from it.
      await admin.fetchTopicOffsets(name);
      const partitions = Object.entries(ends).map(([partition, end]) => ({
        partition: Number(partition),
        offset: String(end),
      }));
      await admin.deleteTopicRecords({ topic: name, partitions });
    } catch (error) {
      throw unavailable(error);
    } finally {
      client.close();
    }
  }

  /** Retries for about two seconds, then rejects with `log_unavailable`. */
  private async offsets(topic: Topic, which: 'oldest' | 'head'): Promise<Offsets> {
    const deadline = AbortSignal.timeout(HEAD_MS);
    const end = AbortSignal.any([deadline, this.closing.signal]);
    const { name } = this.topics[topic];
    for (;;) {
      try {
        return Object.fromEntries(await this.query(end, (link) => link.offsets(name, this.partitionsOf(topic), which)));
      } catch (error) {
        if (end.aborted) throw unavailable(error);
        await delay(HEAD_AGAIN_MS);
      }
    }
  }

  private async query<Result>(end: AbortSignal, ask: (link: KafkaLink) => Promise<Result>): Promise<Result> {
    this.queries ??= this.connectTo(...Object.values(this.topics))(end);
    const link = this.queries;
    const drop = () => this.drop(link);
    end.addEventListener('abort', drop);
    try {
      return await ask(await link);
    } catch (error) {
      drop();
      throw error;
    } finally {
      end.removeEventListener('abort', drop);
    }
  }

  private drop(link: Promise<KafkaLink> | undefined): void {
    if (this.queries === link) this.queries = undefined;
    link?.then((opened) => opened.close()).catch(() => undefined);
  }

  private track<Result>(running: Promise<Result>): Promise<Result> {
    this.running.add(running);
    const done = () => this.running.delete(running);
    running.then(done, done);
    return running;
  }

  /** Appends that are under way get a few seconds, and so does what consumers have in hand. */
  async close(): Promise<void> {
    this.closing.abort();
    const ended = Promise.allSettled(this.running);
    await this.producer.close();
    this.drop(this.queries);
    await Promise.race([ended, delay(CLOSE_MS, undefined, { ref: false })]);
  }
}

/** Makes and checks the topics, and reads their ids. */
async function openTopics(settings: Settings): Promise<KafkaTopics> {
  const client = new KafkaClient(settings);
  const late = setTimeout(() => client.close(), OPEN_MS);
  try {
    const admin = client.kafka.admin();
    await client.connect(() => admin.connect());
    clearTimeout(late);
    const topics = await prepareTopics(admin, settings);
    const link = await KafkaLink.open(settings, Object.values(topics), AbortSignal.timeout(OPEN_MS));
    link.close();
    const entries = Object.entries(topics).map(([topic, one]) => [
      topic,
      { ...one, id: link.topics.get(one.name)?.id },
    ]);
    return Object.fromEntries(entries);
  } finally {
    clearTimeout(late);
    client.close();
  }
}
