import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnusable } from '../../platform/store-unusable.js';
import { type Topic } from '../event-log.js';
import type { KafkaLink } from './client.js';
import { CODE } from './codes.js';
import { KafkaFault } from './faults.js';
import type { TopicMetadata } from './metadata.js';

export interface TopicOptions {
  readonly prefix: string;
  /** Of `audit`. Undefined: as many as it has, or `AUDIT_PARTITIONS` when it is made. */
  readonly partitions: number | undefined;
  /** 1 says that the cluster is a single broker. */
  readonly replication: 1 | 3;
  /** The largest batch that a producer sends. */
  readonly batchBytes: number;
  /** Named in what the operator is told to do. */
  readonly broker: string;
}

export interface KafkaTopic {
  readonly name: string;
  readonly id: string;
  readonly partitions: number;
}

export type KafkaTopics = Readonly<Record<Topic, KafkaTopic>>;

const TOPICS: readonly Topic[] = ['audit', 'control', 'audit.dead', 'progress'];
const AUDIT_PARTITIONS = 12;

/** A cluster that has just started may lack brokers, and needs a moment to make a topic. */
const MAKE_MS = 10_000;
const MAKE_AGAIN_MS = 200;

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
export async function prepareTopics(link: KafkaLink, options: TopicOptions): Promise<KafkaTopics> {
  const found = await existing(link, options);
  const faults = [...found].flatMap(([topic, metadata]) => layoutFaults(topic, metadata, options));
  faults.push(...(await settingFaults(link, options, found)));
  if (faults.length > 0)
    throw new StoreUnusable(`the topics in Kafka are not as they must be:\n  ${faults.join('\n  ')}`);
  const entries = [...found].map(([topic, { id, partitions }]) => [
    topic,
    { name: options.prefix + topic, id, partitions: partitions.length },
  ]);
  return Object.fromEntries(entries);
}

/** The topics, made if need be, when each partition has a leader. */
async function existing(link: KafkaLink, options: TopicOptions): Promise<ReadonlyMap<Topic, TopicMetadata>> {
  const deadline = Date.now() + MAKE_MS;
  const names = TOPICS.map((topic) => options.prefix + topic);
  let reason = 'their partitions have no leader';
  for (;;) {
    const { topics } = await link.refresh(undefined, names);
    const found = TOPICS.map((topic) => [topic, topics.get(options.prefix + topic)] as const);
    const missing = found.filter(([, metadata]) => metadata?.errorCode === CODE.UNKNOWN_TOPIC).map(([topic]) => topic);
    const whole = found.flatMap(([topic, metadata]) =>
      metadata && isWhole(metadata) ? [[topic, metadata] as const] : [],
    );
    if (whole.length === TOPICS.length) return new Map(whole);
    const denied = found.find(([, metadata]) => metadata?.errorCode === CODE.TOPIC_DENIED);
    if (denied)
      throw new StoreUnusable(
        `${options.prefix}${denied[0]}: Kafka denies access; grant Read, Write, Describe and DescribeConfigs`,
      );
    const faulty = found.find(([, metadata]) => !PASSING.has(metadata?.errorCode ?? 0));
    if (faulty) reason = `${options.prefix}${faulty[0]}: error ${faulty[1]?.errorCode}`;
    if (missing.length > 0) reason = (await make(link, options, missing)) ?? reason;
    if (Date.now() > deadline) throw new StoreUnusable(`the topics in Kafka cannot be used: ${reason}`);
    await delay(MAKE_AGAIN_MS);
  }
}

function isWhole({ errorCode, partitions }: TopicMetadata): boolean {
  return errorCode === 0 && partitions.length > 0 && partitions.every(({ leader }) => leader >= 0);
}

interface Made {
  readonly topicErrors: readonly {
    readonly topic: string;
    readonly errorCode: number;
    readonly errorMessage?: string;
  }[];
}

/** Answers why a topic could not be made, where another try may do. */
async function make(link: KafkaLink, options: TopicOptions, missing: readonly Topic[]): Promise<string | undefined> {
  const topics = missing.map((topic) => ({
    topic: options.prefix + topic,
    numPartitions: partitionsOf(topic, options) ?? AUDIT_PARTITIONS,
    replicationFactor: options.replication,
    configEntries: [...settings(options, topic), ...lifeOf(topic)].map(({ name, value }) => ({ name, value })),
  }));
  const { topicErrors } = await link.request<Made>(link.metadata.controller, 'CreateTopics', { topics, timeout: 5000 });
  let reason: string | undefined;
  for (const { topic, errorCode, errorMessage = '' } of topicErrors) {
    if (PASSING.has(errorCode)) continue;
    reason = `${topic} cannot be made: ${errorMessage || `error ${errorCode}`}`;
    if (errorCode !== CODE.TOO_FEW_BROKERS) throw new StoreUnusable(`${reason}; ${HOW_TO_MAKE}`);
    reason += `; start ${options.replication} brokers, or set CONTROL_KAFKA_REPLICATION=1 if there is only one`;
  }
  return reason;
}

const HOW_TO_MAKE = 'let the service create topics, or make them with kafka-topics.sh --create';

/** Another process was faster, or the cluster is not ready. */
const PASSING: ReadonlySet<number> = new Set([
  0,
  CODE.UNKNOWN_TOPIC,
  CODE.TOPIC_EXISTS,
  CODE.NOT_CONTROLLER,
  CODE.TIMED_OUT,
  CODE.NO_LEADER,
]);

/** How many partitions the topic must have; undefined: any number. */
function partitionsOf(topic: Topic, options: TopicOptions): number | undefined {
  return topic === 'audit' ? options.partitions : 1;
}

function layoutFaults(topic: Topic, { partitions }: TopicMetadata, options: TopicOptions): string[] {
  const name = options.prefix + topic;
  const faults: string[] = [];
  const count = partitionsOf(topic, options) ?? partitions.length;
  if (partitions.length !== count) {
    const remedy =
      topic === 'audit'
        ? 'set CONTROL_KAFKA_PARTITIONS to what it has'
        : 'partitions cannot be taken away: choose another CONTROL_KAFKA_TOPIC_PREFIX, or delete the topic if it is empty';
    faults.push(`${name}: has ${partitions.length} partitions and must have ${count}; ${remedy}`);
  }
  const replicas = Math.min(...partitions.map((partition) => partition.replicas));
  if (replicas < options.replication) {
    const remedy =
      'add replicas with kafka-reassign-partitions.sh, or set CONTROL_KAFKA_REPLICATION=1 if there is only one broker';
    faults.push(`${name}: has ${replicas} replicas and must have ${options.replication}; ${remedy}`);
  }
  return faults;
}

interface Described {
  readonly resources: readonly {
    readonly errorCode: number;
    readonly resourceName: string;
    readonly configEntries: readonly { readonly configName: string; readonly configValue: string }[];
  }[];
}

const TOPIC_RESOURCE = 2;

async function settingFaults(
  link: KafkaLink,
  options: TopicOptions,
  found: ReadonlyMap<Topic, TopicMetadata>,
): Promise<string[]> {
  const [node] = link.metadata.brokers.keys();
  if (node === undefined) throw new KafkaFault('the cluster names no broker', false);
  const resources = TOPICS.map((topic) => ({ type: TOPIC_RESOURCE, name: options.prefix + topic }));
  const described = await link.request<Described>(node, 'DescribeConfigs', { resources });
  return TOPICS.flatMap((topic) => {
    const name = options.prefix + topic;
    const resource = described.resources.find(({ resourceName }) => resourceName === name);
    if (resource?.errorCode !== 0) {
      return [`${name}: its settings cannot be read (error ${resource?.errorCode}); grant DescribeConfigs`];
    }
    const values = new Map(resource.configEntries.map(({ configName, configValue }) => [configName, configValue]));
    const replicas = Math.min(...(found.get(topic)?.partitions ?? []).map((partition) => partition.replicas));
    return settings(options, topic, replicas).flatMap((setting) => {
      const value = values.get(setting.name) ?? '';
      if (setting.allows(value)) return [];
      const remedy = `kafka-configs.sh --bootstrap-server ${options.broker} --alter --topic ${name} --add-config ${setting.name}=${setting.value}`;
      return [`${name}: ${setting.name} is ${value} and must be ${setting.value}; ${remedy}`];
    });
  });
}

/** What the topic must be set to, now and for ever. */
function settings({ replication, batchBytes }: TopicOptions, topic: Topic, replicas: number = replication): Setting[] {
  const least = replication === 1 ? 1 : 2;
  const bytes = batchBytes + BATCH_OVERHEAD;
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
  ];
  if (topic === 'progress') return common;
  return [
    ...common,
    exactly('retention.ms', '-1'),
    exactly('retention.bytes', '-1'),
    exactly('message.timestamp.type', 'LogAppendTime'),
  ];
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
