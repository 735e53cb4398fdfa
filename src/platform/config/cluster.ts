import type { Env } from '../env.js';

interface KafkaConfig {
  /** `host:port`. */
  readonly brokers: readonly string[];
  /** Before the name of every topic and group, so that several services can share a cluster. */
  readonly topicPrefix: string;
  /** Copies of each partition; 1 only where power loss may lose what was acknowledged. */
  readonly replication: 1 | 3;
  /** Of `audit`, when the topic is made, which must never have fewer; undefined: as it is, or 12. */
  readonly partitions: number | undefined;
  /** Whether records that no context can serve any more are deleted from `audit`. */
  readonly deleteExpired: boolean;
  readonly tls: { readonly ca?: string } | undefined;
  readonly sasl:
    | { readonly mechanism: SaslMechanism; readonly username: string; readonly password: string }
    | undefined;
}

interface ElasticsearchConfig {
  readonly nodes: readonly string[];
  readonly indexPrefix: string;
  /** Primary shards of each month. */
  readonly shards: number;
  readonly replicas: number;
  readonly ca: string | undefined;
  readonly auth: { readonly apiKey: string } | { readonly username: string; readonly password: string } | undefined;
}

export interface ClusterConfig {
  /** Of this process alone, for a snapshot of the control state; undefined: every start folds all of it. */
  readonly snapshotDir: string | undefined;
  readonly kafka: KafkaConfig;
  readonly elasticsearch: ElasticsearchConfig;
}

const SASL_MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;
type SaslMechanism = (typeof SASL_MECHANISMS)[number];

const PREFIX = /^[a-z0-9][a-z0-9._-]{0,63}$/;

export function readClusterConfig(env: Env): ClusterConfig {
  return {
    snapshotDir: env.optional('CONTROL_SNAPSHOT_DIR'),
    kafka: readKafka(env),
    elasticsearch: readElasticsearch(env),
  };
}

function readKafka(env: Env): KafkaConfig {
  const brokers = env.list('CONTROL_KAFKA_BROKERS');
  if (brokers.length === 0 || !brokers.every((broker) => /^[^\s/:]+:\d{1,5}$|^\[[0-9a-f:]+\]:\d{1,5}$/i.test(broker))) {
    env.fault('CONTROL_KAFKA_BROKERS', 'must list brokers as host:port, separated by commas');
  }
  const ca = env.file('CONTROL_KAFKA_CA_FILE');
  const tls = env.oneOf('CONTROL_KAFKA_TLS', ['true', 'false'], ca === undefined ? 'false' : 'true') === 'true';
  return {
    brokers,
    topicPrefix: prefixOf(env, 'CONTROL_KAFKA_TOPIC_PREFIX', ''),
    replication: env.oneOf('CONTROL_KAFKA_REPLICATION', ['1', '3'], '3') === '1' ? 1 : 3,
    partitions:
      env.optional('CONTROL_KAFKA_PARTITIONS') === undefined
        ? undefined
        : env.whole('CONTROL_KAFKA_PARTITIONS', 12, 1, 10_000),
    deleteExpired: env.oneOf('CONTROL_KAFKA_DELETE_EXPIRED', ['true', 'false'], 'false') === 'true',
    tls: tls ? { ...(ca !== undefined && { ca }) } : undefined,
    sasl: readSasl(env),
  };
}

function readSasl(env: Env): KafkaConfig['sasl'] {
  const username = env.optional('CONTROL_KAFKA_USERNAME');
  const password = env.secret('CONTROL_KAFKA_PASSWORD');
  const mechanism = env.oneOf('CONTROL_KAFKA_SASL_MECHANISM', SASL_MECHANISMS, 'scram-sha-512');
  if (username !== undefined && password !== undefined) return { mechanism, username, password };
  if (username !== undefined) env.fault('CONTROL_KAFKA_PASSWORD', 'must be set beside CONTROL_KAFKA_USERNAME');
  if (password !== undefined) env.fault('CONTROL_KAFKA_USERNAME', 'must be set beside CONTROL_KAFKA_PASSWORD');
  return undefined;
}

function readElasticsearch(env: Env): ElasticsearchConfig {
  const nodes = env.list('CONTROL_ELASTICSEARCH_URL');
  if (nodes.length === 0 || !nodes.every(isPlainUrl)) {
    env.fault(
      'CONTROL_ELASTICSEARCH_URL',
      'must list http or https addresses, separated by commas, without user, password or query',
    );
  }
  return {
    nodes,
    indexPrefix: prefixOf(env, 'CONTROL_ELASTICSEARCH_INDEX_PREFIX', 'control-'),
    shards: env.whole('CONTROL_ELASTICSEARCH_SHARDS', 1, 1, 1024),
    replicas: env.whole('CONTROL_ELASTICSEARCH_REPLICAS', 1, 0, 10),
    ca: env.file('CONTROL_ELASTICSEARCH_CA_FILE'),
    auth: readAuth(env),
  };
}

function readAuth(env: Env): ElasticsearchConfig['auth'] {
  const apiKey = env.secret('CONTROL_ELASTICSEARCH_API_KEY');
  const username = env.optional('CONTROL_ELASTICSEARCH_USERNAME');
  const password = env.secret('CONTROL_ELASTICSEARCH_PASSWORD');
  if (apiKey !== undefined) {
    if (username !== undefined) env.fault('CONTROL_ELASTICSEARCH_USERNAME', 'may not stand beside an API key');
    return { apiKey };
  }
  if (username !== undefined && password !== undefined) return { username, password };
  if (username !== undefined) env.fault('CONTROL_ELASTICSEARCH_PASSWORD', 'must be set beside the user name');
  if (password !== undefined) env.fault('CONTROL_ELASTICSEARCH_USERNAME', 'must be set beside the password');
  return undefined;
}

function prefixOf(env: Env, name: string, otherwise: string): string {
  const prefix = env.text(name, otherwise);
  if (prefix !== '' && !PREFIX.test(prefix)) env.fault(name, `must match ${PREFIX.source}`);
  return prefix;
}

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return (protocol === 'http:' || protocol === 'https:') && `${username}${password}${search}${hash}` === '';
}
