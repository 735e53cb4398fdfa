import { type Broker, type Cluster, PartitionAssigners } from 'kafkajs';
import { StoreUnusable } from '../../platform/store-unusable.js';
import { PositionOutOfRange } from '../event-log.js';
import { KafkaClient } from './client.js';
import { KafkaFault } from './faults.js';
import type { Settings } from './options.js';
import {
  decodeFetch,
  decodeProduced,
  decodeTopicIds,
  type Fetch,
  type Fetched,
  fetchRequest,
  knowsTopicIds,
  type Outgoing,
  type Produced,
  produceRequest,
  type Request,
  topicIdsRequest,
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
      await link.readIds(names);
      for (const { name, id } of topics) {
        if (id === undefined || link.ids.get(name) === id) continue;
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

  /** The id of each topic by its name. */
  ids: ReadonlyMap<string, string> = new Map();

  private constructor(
    private readonly client: KafkaClient,
    private readonly cluster: Cluster,
  ) {}

  private async readIds(names: readonly string[]): Promise<void> {
    const [node = ''] = this.cluster.getNodeIds();
    const { versions } = (await this.cluster.findBroker({ nodeId: String(node) })) as InnerBroker;
    if (!knowsTopicIds(versions)) throw new StoreUnusable('the brokers are older than Kafka 2.8; upgrade them');
    this.ids = await this.exchange(String(node), topicIdsRequest(names), decodeTopicIds);
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
