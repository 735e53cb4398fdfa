import { setTimeout as delay } from 'node:timers/promises';
import type { Batch, Consumer, EventLog, LogEntry, Offsets, Position, Topic } from '../event-log.js';
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
export class KafkaEventLog implements EventLog {
  readonly id: string;
  private readonly producer: KafkaProducer;
  /** For `head`. */
  private queries: Promise<KafkaLink> | undefined;
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
    const stop = new AbortController();
    const end = AbortSignal.any([signal, this.closing.signal, stop.signal]);
    if (end.aborted) return;
    const feed = new TopicFeed(this.feedOptions(topic), this.partitionsOf(topic), from);
    const fed = this.track(feed.run(end));
    try {
      for (;;) {
        const batch = await feed.take(end);
        if (!batch) return;
        yield batch;
      }
    } finally {
      stop.abort();
      await fed;
    }
  }

  async consume(topic: Topic, consumer: Consumer, signal: AbortSignal): Promise<void> {
    const end = AbortSignal.any([signal, this.closing.signal]);
    await this.track(new GroupConsumer(this.settings, this.feedOptions(topic), consumer).run(end));
  }

  private feedOptions(topic: Topic): FeedOptions {
    const kafka = this.topics[topic];
    return { topic, kafka, connect: this.connectTo(kafka), logger: this.settings.logger };
  }

  private partitionsOf(topic: Topic): number[] {
    return Array.from({ length: this.topics[topic].partitions }, (_, partition) => partition);
  }

  /** Retries for about two seconds, then rejects with `log_unavailable`. */
  async head(topic: Topic): Promise<Offsets> {
    const deadline = AbortSignal.timeout(HEAD_MS);
    const end = AbortSignal.any([deadline, this.closing.signal]);
    for (;;) {
      const link = this.queries ?? this.connectTo(...Object.values(this.topics))(end);
      this.queries = link;
      const drop = () => {
        if (this.queries === link) this.queries = undefined;
        link.then((opened) => opened.close()).catch(() => undefined);
      };
      end.addEventListener('abort', drop);
      try {
        const heads = await (await link).offsets(this.topics[topic].name, this.partitionsOf(topic), 'head');
        return Object.fromEntries(heads);
      } catch (error) {
        drop();
        if (end.aborted) throw unavailable(error);
        await delay(HEAD_AGAIN_MS);
      } finally {
        end.removeEventListener('abort', drop);
      }
    }
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
    void this.queries?.then((link) => link.close()).catch(() => undefined);
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
    const entries = Object.entries(topics).map(([topic, one]) => [topic, { ...one, id: link.ids.get(one.name) }]);
    return Object.fromEntries(entries);
  } finally {
    clearTimeout(late);
    client.close();
  }
}
