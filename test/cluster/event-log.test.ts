import { eventLogContract } from '../contract/event-log.contract.js';
import { openKafkaLog } from '../contract/kafka.harness.js';
import { clusterSuite } from './support.js';

clusterSuite('Kafka', ({ kafkaBrokers }) => {
  // A record cannot be altered alone: Kafka keeps them in batches, each with one checksum. See kafka-damage.test.ts.
  eventLogContract('kafka', (feature) => openKafkaLog(kafkaBrokers, feature), { without: ['corrupt'] });
});
