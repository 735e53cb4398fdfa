/**
 * Before each suite of `test/http` that runs on Kafka and Elasticsearch. Without them its tests show as skipped. One
 * partition, as the embedded log has: the suites look at one order of all events, where Kafka promises one a partition.
 */
process.env.TEST_STORE = 'cluster';
process.env.TEST_PARTITIONS = '1';
if (!process.env.TEST_KAFKA_BROKERS) Object.assign(globalThis, { test: test.skip, it: it.skip });
