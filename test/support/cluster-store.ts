import { randomUUID } from 'node:crypto';
import { removeIndices } from '../contract/elasticsearch.harness.js';
import { deleteTopics } from '../contract/kafka.harness.js';

/** A log and a read model of their own on the Kafka and Elasticsearch of the test run. */
export interface ClusterStore {
  readonly env: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

export function newClusterStore(): ClusterStore {
  const { TEST_KAFKA_BROKERS: brokers = '', TEST_ELASTICSEARCH_URL: url = '' } = process.env;
  const prefix = `t${randomUUID().slice(0, 8)}`;
  return {
    env: {
      CONTROL_STORE: 'cluster',
      CONTROL_ROOT_KEY: 'root-key-of-the-test',
      CONTROL_KAFKA_BROKERS: brokers,
      CONTROL_KAFKA_TOPIC_PREFIX: `${prefix}.`,
      CONTROL_KAFKA_REPLICATION: '1',
      CONTROL_KAFKA_PARTITIONS: process.env.TEST_PARTITIONS ?? '3',
      CONTROL_ELASTICSEARCH_URL: url,
      CONTROL_ELASTICSEARCH_INDEX_PREFIX: `${prefix}-`,
      CONTROL_ELASTICSEARCH_REPLICAS: '0',
    },
    async remove() {
      await deleteTopics(brokers.split(','), `${prefix}.`);
      await removeIndices(url, `${prefix}-`);
    },
  };
}
