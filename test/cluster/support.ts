/** A suite that needs Kafka and Elasticsearch: it shows as skipped where `setup.ts` could not start them. */
export function clusterSuite(name: string, define: (services: ClusterServices) => void): void {
  const { TEST_KAFKA_BROKERS = '', TEST_ELASTICSEARCH_URL = '' } = process.env;
  const given = TEST_KAFKA_BROKERS !== '' && TEST_ELASTICSEARCH_URL !== '';
  const services = { kafkaBrokers: TEST_KAFKA_BROKERS.split(','), elasticsearchUrl: TEST_ELASTICSEARCH_URL };
  (given ? describe : describe.skip)(name, () => define(services));
}

/**
 * A suite that starts containers of its own: only where `setup.ts` could start some too, so that a run against running
 * services needs no Docker. `TEST_CONTAINERS=1` says that it may.
 */
export function containerSuite(name: string, define: () => void): void {
  (process.env.TEST_CONTAINERS === '1' ? describe : describe.skip)(name, define);
}

export interface ClusterServices {
  readonly kafkaBrokers: readonly string[];
  readonly elasticsearchUrl: string;
}
