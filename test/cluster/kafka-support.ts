import { type Admin, Kafka, logLevel } from 'kafkajs';
import type { Batch, Consumer, EventLog, LogRecord, Topic } from '../../src/event-log/event-log.js';
import { KafkaEventLog } from '../../src/event-log/kafka/event-log.js';
import type { KafkaEventLogOptions } from '../../src/event-log/kafka/options.js';
import { deleteTopics, newPrefix, silent } from '../contract/kafka.harness.js';
import { KafkaProxy } from '../support/kafka-proxy.js';

/** In kafkajs's `ConfigResourceTypes` and `ConfigSource`, which Node cannot import by name. */
const [TOPIC_RESOURCE, OF_THE_TOPIC] = [2, 1];

/** Topics of one's own, logs on them, and proxies before them: `close` ends them all. */
export class KafkaWorld {
  readonly prefix = newPrefix();
  private readonly logs: KafkaEventLog[] = [];
  private readonly proxies: KafkaProxy[] = [];
  private readonly admins: Admin[] = [];

  constructor(readonly brokers: readonly string[]) {}

  async open(options: Partial<KafkaEventLogOptions> = {}): Promise<KafkaEventLog> {
    const log = await KafkaEventLog.open(this.options(options));
    this.logs.push(log);
    return log;
  }

  options(options: Partial<KafkaEventLogOptions> = {}): KafkaEventLogOptions {
    return {
      brokers: this.brokers,
      topicPrefix: this.prefix,
      partitions: 3,
      replication: 1,
      logger: silent,
      ...options,
    };
  }

  async proxy(): Promise<KafkaProxy> {
    const proxy = await KafkaProxy.start(this.brokers[0] ?? '');
    this.proxies.push(proxy);
    return proxy;
  }

  async admin(): Promise<Admin> {
    const admin = new Kafka({ brokers: [...this.brokers], logLevel: logLevel.NOTHING }).admin();
    this.admins.push(admin);
    await admin.connect();
    return admin;
  }

  /** Makes a topic as an operator might. */
  async makeTopic(topic: Topic, numPartitions: number, settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    const topics = [{ topic: this.prefix + topic, numPartitions, configEntries }];
    await (await this.admin()).createTopics({ topics, waitForLeaders: true });
  }

  /** What is sent to the topic meanwhile keeps its own times, as what a mirror writes does. */
  async keepingTimes(topic: Topic, work: (send: (records: readonly LogRecord[]) => Promise<void>) => Promise<void>) {
    const admin = await this.admin();
    const name = this.prefix + topic;
    const described = await admin.describeConfigs({
      resources: [{ type: TOPIC_RESOURCE, name }],
      includeSynonyms: false,
    });
    const own = (described.resources[0]?.configEntries ?? []).filter(
      ({ configSource }) => configSource === OF_THE_TOPIC,
    );
    const alter = (time: string) => {
      const configEntries = own.map(({ configName, configValue }) => ({
        name: configName,
        value: configName === 'message.timestamp.type' ? time : configValue,
      }));
      return admin.alterConfigs({ validateOnly: false, resources: [{ type: TOPIC_RESOURCE, name, configEntries }] });
    };
    await alter('CreateTime');
    const producer = new Kafka({ brokers: [...this.brokers], logLevel: logLevel.NOTHING }).producer();
    await producer.connect();
    await work(async (records) => {
      const messages = records.map(({ partition, key, headers, value, time }) => ({
        ...{ partition, key, headers, value: Buffer.from(value) },
        timestamp: String(time),
      }));
      await producer.send({ topic: name, messages });
    });
    await producer.disconnect();
    await alter('LogAppendTime');
  }

  /** As an operator might, or a retention that somebody set. */
  async deleteRecordsBefore(offset: number, topic: Topic): Promise<void> {
    const admin = await this.admin();
    const name = this.prefix + topic;
    // Only this makes kafkajs look at the topic, without which it cannot delete from it.
    await admin.fetchTopicOffsets(name);
    await admin.deleteTopicRecords({ topic: name, partitions: [{ partition: 0, offset: `${offset}` }] });
  }

  async close(): Promise<void> {
    await Promise.all(this.logs.map((log) => log.close()));
    await Promise.all(this.admins.map((admin) => admin.disconnect()));
    await Promise.all(this.proxies.map((proxy) => proxy.close()));
    await deleteTopics(this.brokers, this.prefix).catch(() => undefined);
  }
}

export interface Member {
  /** The partitions of each assignment. */
  readonly assigned: number[][];
  readonly batches: Batch[];
  records(): LogRecord[];
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** A consumer that notes what it gets, and starts at `from` or where the same map says it has come. */
export function member(
  log: EventLog,
  group: string,
  options: { done?: Map<number, number>; topic?: Topic; handle?: Consumer['handle'] } = {},
): Member {
  const stop = new AbortController();
  const { done = new Map<number, number>(), topic = 'audit' } = options;
  const assigned: number[][] = [];
  const batches: Batch[] = [];
  const consumer: Consumer = {
    group,
    assigned: async (partitions) => {
      assigned.push([...partitions]);
      return Object.fromEntries(done);
    },
    handle: async (batch) => {
      await options.handle?.(batch);
      batches.push(batch);
      done.set(batch.partition, Math.max(batch.next, done.get(batch.partition) ?? 0));
    },
  };
  const ended = log.consume(topic, consumer, stop.signal);
  ended.catch(() => undefined);
  return {
    assigned,
    batches,
    records: () => batches.flatMap(({ records }) => records),
    ended,
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
}
