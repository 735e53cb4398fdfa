import { COMPILED_ONCE, type Started, startContainers } from '../support/containers.ts';

declare global {
  var clusterContainers: Started | undefined;
}

/**
 * One Kafka and one Elasticsearch for all tests of this folder, unless `TEST_KAFKA_BROKERS` and `TEST_ELASTICSEARCH_URL`
 * name running ones. Where they cannot be started the tests are skipped; with `REQUIRE_CONTAINERS=1` that is a failure.
 */
export default async function setup(): Promise<void> {
  const { env } = process;
  if (env.TEST_KAFKA_BROKERS && env.TEST_ELASTICSEARCH_URL) return;
  try {
    const started = await startContainers(env, { inMemory: true, javaOptions: COMPILED_ONCE });
    globalThis.clusterContainers = started;
    env.TEST_KAFKA_BROKERS = started.kafkaBrokers;
    env.TEST_ELASTICSEARCH_URL = started.elasticsearchUrl;
    env.TEST_CONTAINERS = '1';
  } catch (error) {
    if (env.REQUIRE_CONTAINERS === '1') throw error;
    const reason = String((error as Error).message)
      .replaceAll(/\s+/g, ' ')
      .trim();
    process.stderr.write(
      '\nSKIPPED: the tests against Kafka and Elasticsearch (test/cluster). They need Docker, or TEST_KAFKA_BROKERS and ' +
        `TEST_ELASTICSEARCH_URL; REQUIRE_CONTAINERS=1 makes this a failure. (${reason})\n\n`,
    );
  }
}
