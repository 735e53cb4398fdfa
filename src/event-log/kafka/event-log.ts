import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import {
  type Batch,
  type Consumer,
  type EventLog,
  type LogEntry,
  type Offsets,
  type Position,
  type Topic,
} from '../event-log.js';
import { type Address, addressOf, type KafkaConnection, KafkaLink, type KafkaSasl, type KafkaTls } from './client.js';
import { GroupConsumer } from './consumer.js';
import { unavailable, unopened } from './faults.js';
import { type FeedOptions, TopicFeed } from './feed.js';
import { type Connect, linkTo, SharedLink } from './links.js';
import { headsOf } from './offsets.js';
import { KafkaProducer } from './producer.js';
import { type KafkaTopics, prepareTopics } from './topics.js';

export interface KafkaEventLogOptions {
  /** Where to begin: some of the brokers, each `host:port`. */
  readonly brokers: readonly string[];
  readonly clientId?: string;
  readonly tls?: KafkaTls | undefined;
  readonly sasl?: KafkaSasl | undefined;
  /** Before the name of every topic and group: several services can share a cluster. */
  readonly topicPrefix?: string;
  /** Of `audit`; it must have exactly so many. Undefined: as many as it has, or 12 when it is made. */
  readonly partitions?: number | undefined;
  /** Copies of each partition; 1 says that the cluster is a single broker, and may lose what it acknowledged. Default 3. */
  readonly replication?: 1 | 3;
  /** What may wait to be acknowledged. */
  readonly maxPending?: { readonly entries: number; readonly bytes: number };
  readonly maxRecordBytes?: number;
  /** How long an append waits for others that can go with it. */
  readonly lingerMs?: number;
  /** How many records go at once. */
  readonly batchRecords?: number;
  /** How long an append is tried again before it is rejected. */
  readonly deliveryMs?: number;
  /** How long a broker may take to answer. */
  readonly requestMs?: number;
  readonly logger: Logger;
  /** For tests and tunnels: where to connect instead of a broker's own address. */
  readonly route?: (broker: Address) => Address;
}

/** How long `open` tries to reach a broker. */
const OPEN_MS = 5_000;

/** How long a broker may take to accept a connection. */
const CONNECT_MS = 2_000;

/** How long `head` tries. */
const HEAD_MS = 2_000;
const HEAD_AGAIN_MS = 50;

/** How long `close` waits for consumers. */
const CLOSE_MS = 3_000;

const RECORD_BYTES = 900 * 1024;

/**
 * The log in Kafka: one topic each, made and checked at the start. An append resolves when all replicas in sync have it,
 * of which there are at least two (unless the cluster is a single broker).
 *
 * `id` is made of the ids that Kafka gave `control` and `audit` when they were made: a topic that is deleted and made
 * again is another log, whatever its name.
 *
 * What is altered on a broker's disk is found by the CRC of its batch, so `CorruptRecord` stands for the whole batch: the
 * records that were appended together with the altered one are not given either.
 */
export class KafkaEventLog implements EventLog {
  readonly id: string;
  private readonly producer: KafkaProducer;
  private readonly queries: SharedLink;
  private readonly closing = new AbortController();
  private readonly running = new Set<Promise<unknown>>();

  /**
   * Throws `StoreUnusable` when the topics are not as they must be, or the brokers refuse this client; `ControlError`
   * `log_unavailable` when no broker answers: then it may be tried again. Leaves no connection behind.
   */
  static async open(options: KafkaEventLogOptions): Promise<KafkaEventLog> {
    const { brokers, clientId = 'control-service', tls, sasl, route, requestMs = 10_000, logger } = options;
    const { topicPrefix = '', partitions, replication = 3, maxRecordBytes = RECORD_BYTES } = options;
    const [broker = ''] = brokers;
    const connection: KafkaConnection = {
      brokers,
      clientId,
      tls,
      sasl,
      route,
      connectTimeoutMs: CONNECT_MS,
      requestTimeoutMs: requestMs,
      logger,
    };
    const link = await firstLink(connection);
    try {
      const layout = { prefix: topicPrefix, partitions, replication, batchBytes: maxRecordBytes, broker };
      const topics = await prepareTopics(link, layout);
      return new KafkaEventLog(options, connection, topics);
    } catch (error) {
      throw unopened(error);
    } finally {
      link.close();
    }
  }

  private constructor(
    private readonly options: KafkaEventLogOptions,
    private readonly connection: KafkaConnection,
    private readonly topics: KafkaTopics,
  ) {
    this.id = `${topics.control.id}-${topics.audit.id}`;
    const { maxRecordBytes = RECORD_BYTES } = options;
    this.producer = new KafkaProducer({
      topics,
      connect: this.connectTo(...Object.values(topics)),
      maxPending: options.maxPending ?? { entries: 20_000, bytes: 64 * 1024 * 1024 },
      maxRecordBytes,
      lingerMs: options.lingerMs ?? 5,
      batchRecords: options.batchRecords ?? 500,
      batchBytes: maxRecordBytes,
      deliveryMs: options.deliveryMs ?? 30_000,
      requestMs: connection.requestTimeoutMs,
      logger: options.logger,
    });
    this.queries = new SharedLink(this.connectTo(...Object.values(topics)));
  }

  private connectTo(...topics: KafkaTopics[Topic][]): Connect {
    return (signal) => linkTo(this.connection, topics, signal);
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
    const group = `${this.options.topicPrefix ?? ''}${consumer.group}`;
    await this.track(new GroupConsumer(this.feedOptions(topic), group, consumer).run(end));
  }

  private feedOptions(topic: Topic): FeedOptions {
    const kafka = this.topics[topic];
    return { topic, kafka, connect: this.connectTo(kafka), logger: this.options.logger };
  }

  private partitionsOf(topic: Topic): number[] {
    return Array.from({ length: this.topics[topic].partitions }, (_, partition) => partition);
  }

  /** Rejects with `log_unavailable` after about two seconds. */
  async head(topic: Topic): Promise<Offsets> {
    const deadline = Date.now() + HEAD_MS;
    const late = setTimeout(() => this.queries.drop(), HEAD_MS);
    try {
      for (;;) {
        let link: KafkaLink | undefined;
        try {
          link = await this.queries.get();
          return Object.fromEntries(await headsOf(link, this.topics[topic].name, this.partitionsOf(topic)));
        } catch (error) {
          this.queries.drop(link);
          if (Date.now() + HEAD_AGAIN_MS >= deadline || this.closing.signal.aborted) throw unavailable(error);
          await delay(HEAD_AGAIN_MS);
        }
      }
    } finally {
      clearTimeout(late);
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
    const late = new AbortController();
    const ended = Promise.allSettled(this.running);
    await this.producer.close();
    this.queries.close();
    await Promise.race([ended, delay(CLOSE_MS, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
  }
}

async function firstLink(connection: KafkaConnection): Promise<KafkaLink> {
  try {
    connection.brokers.forEach(addressOf);
    return await KafkaLink.open(connection, [], AbortSignal.timeout(OPEN_MS));
  } catch (error) {
    throw unopened(error);
  }
}
