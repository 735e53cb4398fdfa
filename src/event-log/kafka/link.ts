import { type Broker, type Cluster, PartitionAssigners } from 'kafkajs';
import { StoreUnusable } from '../../platform/store-unusable.js';
import { PositionOutOfRange } from '../event-log.js';
import { KafkaClient } from './client.js';
import { KafkaFault } from './faults.js';
import type { Settings } from './options.js';
import {
  decodeFetch,
  decodeProduced,
  decodeTopics,
  type Fetch,
  type Fetched,
  fetchRequest,
  knowsTopicIds,
  type Outgoing,
  type Produced,
  produceRequest,
  type Request,
  type TopicFacts,
  topicsRequest,
} from './requests.js';

/** What kafkajs's `Broker` has beyond its public type. ADR 6 says which faults it prevents. */
interface InnerBroker extends Broker {
  readonly versions: Parameters<typeof knowsTopicIds>[0];
  readonly connectionPool: {
    send<Answer>(exchange: {
      readonly request: Request;
      readonly response: { decode(raw: Buffer): Promise<Answer>; parse(decoded: Answer): Promise<Answer> };
      readonly requestTimeout?: number | undefined;
    }): Promise<Answer>;
  };
}

/** A topic, and the id that it must have if that is known. */
export interface TopicName {
  readonly name: string;
  readonly id?: string;
}

/** Opens a link; the signal ends the attempt. */
export type Connect = (signal: AbortSignal) => Promise<KafkaLink>;

/**
 * Connections to the leaders of some topics. A link is not repaired: after a fault, or when a leader has moved, its user
 * closes it and opens another.
 */
export class KafkaLink {
  /**
   * Connects to the first broker that accepts. Throws `PositionOutOfRange` if a topic has another id: it was deleted and
   * made again, and its offsets mean other records.
   */
  static async open(settings: Settings, topics: readonly TopicName[], signal: AbortSignal): Promise<KafkaLink> {
    const client = new KafkaClient(settings);
    const close = () => client.close();
    signal.addEventListener('abort', close, { once: true });
    try {
      signal.throwIfAborted();
      const cluster = clusterOf(client);
      await client.connect(() => cluster.connect());
      const names = topics.map(({ name }) => name);
      await cluster.addMultipleTargetTopics(names);
      const link = new KafkaLink(client, cluster);
      await link.checkVersion();
      link.topics = await link.describe(names);
      for (const { name, id } of topics) {
        if (id === undefined || link.topics.get(name)?.id === id) continue;
        throw new PositionOutOfRange(`${name} was deleted and made again since this process started`);
      }
      return link;
    } catch (error) {
      close();
      throw error;
    } finally {
      signal.removeEventListener('abort', close);
    }
  }

  /** By their names, as they were when the link was opened. */
  topics: ReadonlyMap<string, TopicFacts> = new Map();

  private constructor(
    private readonly client: KafkaClient,
    private readonly cluster: Cluster,
  ) {}

  /** How many partitions the topic had when the link was opened. */
  partitionsOf(topic: string): number {
    return this.topics.get(topic)?.partitions ?? 0;
  }

  private async checkVersion(): Promise<void> {
    const { versions } = (await this.cluster.findBroker({ nodeId: this.anyNode })) as InnerBroker;
    if (!knowsTopicIds(versions)) throw new StoreUnusable('the brokers are older than Kafka 2.8; upgrade them');
  }

  /** The topics as they are now. */
  describe(names: readonly string[]): Promise<ReadonlyMap<string, TopicFacts>> {
    return this.exchange(this.anyNode, topicsRequest(names), decodeTopics);
  }

  private get anyNode(): string {
    return String(this.cluster.getNodeIds()[0] ?? '');
  }

  /** The node that led a partition when the link was opened. */
  leaderOf(topic: string, partition: number): string {
    const [leader = ''] = Object.keys(this.cluster.findLeaderForPartitions(topic, [partition]));
    return leader;
  }

  /** The oldest offset of each partition, or its head: all replicas in sync have the records before that. */
  async offsets(topic: string, partitions: readonly number[], which: 'oldest' | 'head'): Promise<Map<number, number>> {
    const asked = partitions.map((partition) => ({ partition }));
    const request = { topic, partitions: asked, fromBeginning: which === 'oldest' };
    const [listed] = await this.cluster.fetchTopicsOffset([request]);
    return new Map(listed?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
  }

  /** Unlike the public `fetch`, which decodes the records and ignores their checksums, this returns their bytes. */
  fetch(node: string, fetch: Fetch): Promise<Fetched[]> {
    // The broker may hold the response back for as long as it waits for records.
    return this.exchange(node, fetchRequest(fetch), decodeFetch, fetch.waitMs + FETCH_MS);
  }

  /** Unlike the public `produce`, which throws the first error that it finds, this returns the outcome of each partition. */
  produce(node: string, batches: readonly Outgoing[], timeoutMs: number): Promise<Produced[]> {
    return this.exchange(node, produceRequest(batches, timeoutMs), decodeProduced);
  }

  /** Throws only `KafkaFault`. */
  private async exchange<Answer>(
    node: string,
    request: Request,
    decode: (raw: Buffer) => Answer,
    requestTimeout?: number,
  ): Promise<Answer> {
    let sent = false;
    const encode = async () => {
      const encoded = await request.encode();
      sent = true;
      return encoded;
    };
    try {
      const { connectionPool } = (await this.cluster.findBroker({ nodeId: node })) as InnerBroker;
      const response = { decode: async (raw: Buffer) => decode(raw), parse: async (answer: Answer) => answer };
      return await connectionPool.send({ request: { ...request, encode }, response, requestTimeout });
    } catch (error) {
      throw new KafkaFault((error as Error).message, sent, { cause: error });
    }
  }

  /** At once: pending requests are rejected. */
  close(): void {
    this.client.close();
  }
}

/** kafkajs's own allowance for a fetch. */
const FETCH_MS = 5_000;

/** kafkajs hands its view of the cluster to partition assigners; this consumer is not run, and joins no group. */
function clusterOf({ kafka }: KafkaClient): Cluster {
  const clusters: Cluster[] = [];
  const assigner: typeof PartitionAssigners.roundRobin = (config) => {
    clusters.push(config.cluster);
    return PartitionAssigners.roundRobin(config);
  };
  kafka.consumer({
    groupId: 'unused',
    allowAutoTopicCreation: false,
    readUncommitted: true,
    partitionAssigners: [assigner],
  });
  const [cluster] = clusters;
  if (!cluster) throw new Error('kafkajs called no partition assigner');
  return cluster;
}
