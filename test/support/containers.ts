import { type AddressInfo, createServer } from 'node:net';
import { ElasticsearchContainer } from '@testcontainers/elasticsearch';
import { KafkaContainer, type StartedKafkaContainer } from '@testcontainers/kafka';
import { Kafka, logLevel, type SASLOptions } from 'kafkajs';
import { GenericContainer, Network, type StartedTestContainer } from 'testcontainers';

const KAFKA_IMAGE = 'confluentinc/cp-kafka:8.0.0';
const ELASTICSEARCH_IMAGE = 'docker.elastic.co/elasticsearch/elasticsearch:9.1.5';

/** The images run as different users. */
const ANYONES = 'rw,mode=1777';

/** What is given by an address need not be started: `TEST_KAFKA_BROKERS`, `TEST_ELASTICSEARCH_URL`. */
export interface Started {
  readonly kafkaBrokers: string;
  readonly elasticsearchUrl: string;
  stop(): Promise<void>;
}

export interface ContainerOptions {
  /** Keeps the data where no disk holds it up, and nothing of it when it is stopped. */
  readonly inMemory?: boolean;
  readonly javaOptions?: string;
  /** One that stays when it restarts. */
  readonly port?: number;
}

/** Java compiles its code once: in a run of minutes there is no time in which compiling it again would pay. */
export const COMPILED_ONCE = '-XX:TieredStopAtLevel=1';

/** Rejects when there is no container runtime, or an image cannot be started; then nothing is left running. */
export async function startContainers(env: NodeJS.ProcessEnv, options: ContainerOptions = {}): Promise<Started> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    await Promise.all(stops.map((one) => one()));
  };
  const [kafka, elasticsearch] = await Promise.allSettled([
    env.TEST_KAFKA_BROKERS ||
      startKafka(env, options).then((container) => {
        stops.push(() => container.stop());
        return brokersOf(container);
      }),
    env.TEST_ELASTICSEARCH_URL ||
      startElasticsearch(env, options).then((container) => {
        stops.push(() => container.stop());
        return container.getHttpUrl();
      }),
  ]);
  if (kafka.status === 'fulfilled' && elasticsearch.status === 'fulfilled') {
    return { kafkaBrokers: kafka.value, elasticsearchUrl: elasticsearch.value, stop };
  }
  await stop();
  throw kafka.status === 'rejected' ? kafka.reason : (elasticsearch as PromiseRejectedResult).reason;
}

/** A broker of one's own: to be stopped by the caller. */
export async function startKafka(
  env: NodeJS.ProcessEnv,
  { inMemory = false, javaOptions = '' }: ContainerOptions = {},
): Promise<StartedKafkaContainer> {
  const container = await new KafkaContainer(env.SVC_KAFKA_IMAGE || KAFKA_IMAGE)
    .withKraft()
    .withTmpFs(inMemory ? { '/var/lib/kafka/data': ANYONES } : {})
    .withEnvironment({ KAFKA_HEAP_OPTS: `-Xms256m -Xmx512m ${javaOptions}` })
    .start();
  await answers([brokersOf(container)]);
  return container;
}

/** The port is open before the broker serves it. */
async function answers(brokers: string[], count = 1, sasl?: SASLOptions): Promise<void> {
  const retry = { retries: 120, initialRetryTime: 500, multiplier: 1, maxRetryTime: 500 };
  const secret = sasl && { sasl };
  const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING, retry, connectionTimeout: 5_000, ...secret });
  const admin = kafka.admin();
  await admin.connect();
  while ((await admin.describeCluster()).brokers.length < count)
    await new Promise((resolve) => setTimeout(resolve, 500));
  await admin.disconnect();
}

export function brokersOf(container: StartedKafkaContainer): string {
  return `${container.getHost()}:${container.getMappedPort(9093)}`;
}

export interface StartedCluster {
  readonly brokers: readonly string[];
  readonly containers: readonly StartedTestContainer[];
  stop(): Promise<void>;
}

/**
 * Brokers that are the controllers too, with ports that stay when they restart. Clients come by the listener PLAINTEXT,
 * which `settings` may turn into another. Listeners that the settings advertise come beside these.
 */
export async function startKafkaCluster(
  env: NodeJS.ProcessEnv,
  count: number,
  settings: Readonly<Record<string, string>> = {},
  sasl?: SASLOptions,
): Promise<StartedCluster> {
  const { KAFKA_ADVERTISED_LISTENERS: others, ...rest } = settings;
  const network = await new Network().start();
  const nodes = Array.from({ length: count }, (_, index) => index + 1);
  const ports = await Promise.all(nodes.map(() => freePort()));
  const brokers = ports.map((port) => `127.0.0.1:${port}`);
  const containers: StartedTestContainer[] = [];
  const stop = async () => {
    await Promise.all(containers.map((container) => container.stop()));
    await network.stop();
  };
  const starting = nodes.map(async (node, index) => {
    const port = ports[index] ?? 0;
    const container = await new GenericContainer(env.SVC_KAFKA_IMAGE || KAFKA_IMAGE)
      .withNetwork(network)
      .withNetworkAliases(`kafka-${node}`)
      .withExposedPorts({ container: 9092, host: port })
      .withEnvironment({
        CLUSTER_ID: '4L6g3nShT-eMCtK--X86sw',
        KAFKA_NODE_ID: String(node),
        KAFKA_PROCESS_ROLES: 'broker,controller',
        KAFKA_CONTROLLER_QUORUM_VOTERS: nodes.map((one) => `${one}@kafka-${one}:9094`).join(','),
        KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
        KAFKA_INTER_BROKER_LISTENER_NAME: 'BROKER',
        KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'PLAINTEXT:PLAINTEXT,BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT',
        KAFKA_LISTENERS: 'PLAINTEXT://:9092,BROKER://:9093,CONTROLLER://:9094',
        KAFKA_ADVERTISED_LISTENERS: [`PLAINTEXT://127.0.0.1:${port}`, `BROKER://kafka-${node}:9093`, others ?? []]
          .flat()
          .join(),
        KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: String(count),
        KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
        KAFKA_HEAP_OPTS: '-Xms256m -Xmx384m',
        ...rest,
      })
      .start();
    containers.push(container);
  });
  const outcomes = await Promise.allSettled([...starting, answers([...brokers], count, sasl)]);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (!failed) return { brokers, containers, stop };
  await stop();
  throw failed.reason;
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

export function startElasticsearch(
  env: NodeJS.ProcessEnv,
  { inMemory = false, javaOptions = '', port }: ContainerOptions = {},
) {
  const container = new ElasticsearchContainer(env.SVC_ELASTICSEARCH_IMAGE || ELASTICSEARCH_IMAGE);
  if (port !== undefined) container.withExposedPorts({ container: 9200, host: port });
  return container
    .withTmpFs(inMemory ? { '/usr/share/elasticsearch/data': ANYONES } : {})
    .withEnvironment({
      'discovery.type': 'single-node',
      'xpack.security.enabled': 'false',
      ES_JAVA_OPTS: `-Xms512m -Xmx512m ${javaOptions}`,
    })
    .start();
}
