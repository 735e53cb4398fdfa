import { setTimeout as delay } from 'node:timers/promises';
import type { Admin, PartitionMetadata } from 'kafkajs';
import { StoreUnusable } from '../../platform/store-unusable.js';
import type { Topic } from '../event-log.js';
import { brokerError } from './faults.js';
import type { Settings } from './options.js';

export interface KafkaTopic {
  readonly name: string;
  readonly id: string;
  /** Grows when an operator adds some. */
  partitions: number;
}

export type KafkaTopics = Readonly<Record<Topic, KafkaTopic>>;

const TOPICS: readonly Topic[] = ['audit', 'control', 'audit.dead', 'progress', 'checkpoints'];
const AUDIT_PARTITIONS = 12;

/** A cluster that has just started may lack brokers, and needs a moment to make a topic. */
const MAKE_MS = 10_000;
const MAKE_AGAIN_MS = 200;

/** In kafkajs's `ConfigResourceTypes`, which Node cannot import by name. */
const TOPIC_RESOURCE = 2;

/** What a broker puts before and around a batch that it takes. */
const BATCH_OVERHEAD = 1024;

interface Setting {
  readonly name: string;
  readonly value: string;
  readonly allows: (value: string) => boolean;
}

/**
 * Makes the topics that are missing, and checks those that are there. Throws `StoreUnusable` with every setting that is
 * not as it must be: a log that expires, or that acknowledges what one disk holds, is not the truth of the service.
 * Several processes may do this at once.
 */
export async function prepareTopics(admin: Admin, options: Settings): Promise<Record<Topic, Omit<KafkaTopic, 'id'>>> {
  const found = await existing(admin, options);
  const described = await describe(admin, options);
  const faults = found.flatMap(({ topic, name, partitions }) => [
    ...layoutFaults(topic, name, partitions, options),
    ...settingFaults(name, settings(options, topic, replicasOf(partitions)), described, options),
  ]);
  if (faults.length > 0)
    throw new StoreUnusable(`the topics in Kafka are not as they must be:\n  ${faults.join('\n  ')}`);
  return Object.fromEntries(
    found.map(({ topic, name, partitions }) => [topic, { name, partitions: partitions.length }]),
  ) as Record<Topic, Omit<KafkaTopic, 'id'>>;
}

interface Found {
  readonly topic: Topic;
  readonly name: string;
  readonly partitions: readonly PartitionMetadata[];
}

/** The topics, made if they are missing, once each partition has a leader. */
async function existing(admin: Admin, options: Settings): Promise<Found[]> {
  const deadline = performance.now() + MAKE_MS;
  for (;;) {
    const found: Found[] = [];
    const missing: Topic[] = [];
    let reason = '';
    for (const topic of TOPICS) {
      const name = options.topicPrefix + topic;
      try {
        const { topics } = await admin.fetchTopicMetadata({ topics: [name] });
        found.push({ topic, name, partitions: topics[0]?.partitions ?? [] });
      } catch (error) {
        const type = brokerError(error);
        if (type === 'TOPIC_AUTHORIZATION_FAILED')
          throw new StoreUnusable(`${name}: Kafka denies access; grant Read, Write, Describe and DescribeConfigs`);
        if (!PASSING.has(type)) throw error;
        if (type === 'UNKNOWN_TOPIC_OR_PARTITION') missing.push(topic);
        reason = `${name}: ${(error as Error).message}`;
      }
    }
    if (found.length === TOPICS.length) return found;
    if (missing.length > 0) reason = (await make(admin, options, missing)) ?? reason;
    if (performance.now() > deadline) throw new StoreUnusable(`the topics in Kafka cannot be used: ${reason}`);
    await delay(MAKE_AGAIN_MS);
  }
}

/** Returns why a topic could not be made if another try may do. */
async function make(admin: Admin, options: Settings, missing: readonly Topic[]): Promise<string | undefined> {
  const topics = missing.map((topic) => ({
    topic: options.topicPrefix + topic,
    numPartitions: partitionsOf(topic, options) ?? AUDIT_PARTITIONS,
    replicationFactor: options.replication,
    configEntries: [...settings(options, topic), ...lifeOf(topic)].map(({ name, value }) => ({ name, value })),
  }));
  try {
    await admin.createTopics({ topics, waitForLeaders: false });
  } catch (error) {
    const { errors: faults = [error] } = error as { readonly errors?: readonly unknown[] };
    const fault = faults.find((one) => !PASSING.has(brokerError(one)));
    if (!fault) return undefined;
    const { topic = 'a topic', message } = fault as Error & { readonly topic?: string };
    const reason = `${topic} cannot be made: ${message}`;
    if (brokerError(fault) === 'INVALID_REPLICATION_FACTOR')
      return `${reason}; start ${options.replication} brokers, or set CONTROL_KAFKA_REPLICATION=1 if there is only one`;
    if (brokerError(fault) === '') throw error;
    throw new StoreUnusable(`${reason}; let the service create topics, or make them with kafka-topics.sh --create`);
  }
  return undefined;
}

/** Another process was faster, or the cluster is not ready. */
const PASSING: ReadonlySet<string> = new Set([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'TOPIC_ALREADY_EXISTS',
  'NOT_CONTROLLER',
  'REQUEST_TIMED_OUT',
  'LEADER_NOT_AVAILABLE',
]);

/** How many partitions the topic must have, `audit` at least; undefined: any number. */
function partitionsOf(topic: Topic, options: Settings): number | undefined {
  return topic === 'audit' ? options.partitions : 1;
}

function layoutFaults(
  topic: Topic,
  name: string,
  partitions: readonly PartitionMetadata[],
  options: Settings,
): string[] {
  const faults: string[] = [];
  const count = partitionsOf(topic, options) ?? partitions.length;
  if (partitions.length < count || (partitions.length > count && topic !== 'audit')) {
    const remedy =
      topic === 'audit'
        ? `add some: kafka-topics.sh --bootstrap-server ${options.brokers[0]} --alter --topic ${name} --partitions ${count}`
        : 'partitions cannot be taken away: choose another CONTROL_KAFKA_TOPIC_PREFIX, or delete the topic if it is empty';
    faults.push(`${name}: has ${partitions.length} partitions and must have ${count}; ${remedy}`);
  }
  const replicas = replicasOf(partitions);
  if (replicas < options.replication) {
    const remedy =
      'add replicas with kafka-reassign-partitions.sh, or set CONTROL_KAFKA_REPLICATION=1 if there is only one broker';
    faults.push(`${name}: has ${replicas} replicas and must have ${options.replication}; ${remedy}`);
  }
  return faults;
}

/** Of the partition that has the fewest. */
function replicasOf(partitions: readonly PartitionMetadata[]): number {
  return Math.min(...partitions.map(({ replicas }) => replicas.length));
}

/** The settings of all topics, by `topic setting`. */
async function describe(admin: Admin, { topicPrefix }: Settings): Promise<ReadonlyMap<string, string>> {
  // This makes kafkajs look at the topic. Otherwise it looks at all of the cluster, and fails if one has no leader. Whether
  // the leader of a new topic knows its offsets yet does not matter.
  await admin.fetchTopicOffsets(`${topicPrefix}control`).catch(() => undefined);
  try {
    const resources = TOPICS.map((topic) => ({ type: TOPIC_RESOURCE, name: topicPrefix + topic }));
    const described = await admin.describeConfigs({ resources, includeSynonyms: false });
    return new Map(
      described.resources.flatMap(({ resourceName, configEntries }) =>
        configEntries.map(({ configName, configValue }) => [`${resourceName} ${configName}`, configValue]),
      ),
    );
  } catch (error) {
    if (!brokerError(error).endsWith('AUTHORIZATION_FAILED')) throw error;
    const denied = `the settings of ${topicPrefix}audit and the other topics cannot be read`;
    throw new StoreUnusable(`${denied}; grant DescribeConfigs on them`, { cause: error });
  }
}

function settingFaults(
  name: string,
  wanted: readonly Setting[],
  described: ReadonlyMap<string, string>,
  { brokers: [broker] }: Settings,
): string[] {
  return wanted.flatMap(({ name: setting, value, allows }) => {
    const found = described.get(`${name} ${setting}`) ?? '';
    const remedy = `kafka-configs.sh --bootstrap-server ${broker} --alter --topic ${name} --add-config ${setting}=${value}`;
    return allows(found) ? [] : [`${name}: ${setting} is ${found} and must be ${value}; ${remedy}`];
  });
}

/** What the topic must be set to, now and for ever. */
function settings({ replication, maxRecordBytes }: Settings, topic: Topic, replicas: number = replication): Setting[] {
  const least = replication === 1 ? 1 : 2;
  const bytes = maxRecordBytes + BATCH_OVERHEAD;
  const common = [
    exactly('cleanup.policy', 'delete'),
    exactly('unclean.leader.election.enable', 'false'),
    // With as many as there are replicas, or more, the loss of one broker would stop all appends.
    between('min.insync.replicas', least, least, Math.max(least, replicas - 1)),
    between('max.message.bytes', Math.max(bytes, 1_048_588), bytes, Number.POSITIVE_INFINITY),
    {
      name: 'compression.type',
      value: 'producer',
      allows: (value: string) => ['producer', 'uncompressed'].includes(value),
    },
    exactly('message.timestamp.type', 'LogAppendTime'),
  ];
  if (topic === 'progress') return common;
  return [...common, exactly('retention.ms', '-1'), exactly('retention.bytes', '-1')];
}

/** `progress` is of use for moments; Kafka drops whole segments, so they must be short as well. */
function lifeOf(topic: Topic): { name: string; value: string }[] {
  if (topic !== 'progress') return [];
  return [
    { name: 'retention.ms', value: String(3_600_000) },
    { name: 'segment.ms', value: String(600_000) },
  ];
}

function exactly(name: string, value: string): Setting {
  return { name, value, allows: (found) => found === value };
}

function between(name: string, value: number, least: number, most: number): Setting {
  return { name, value: String(value), allows: (found) => Number(found) >= least && Number(found) <= most };
}
