import { type Started, startContainers } from '../support/containers.ts';
import { measureAppend } from './cluster-append.ts';
import { measureProjector } from './cluster-projector.ts';
import { type Options, type Ratios, say } from './figures.ts';

/** On the Kafka and Elasticsearch that the environment names, or else on containers of the run's own. */
export async function measureCluster(options: Options, wanted: ReadonlySet<string>): Promise<Ratios> {
  const { kafkaBrokers, elasticsearchUrl, stop } = await started();
  const brokers = kafkaBrokers.split(',');
  try {
    const projector = wanted.has('projector-over-bulk')
      ? await measureProjector(brokers, elasticsearchUrl, options)
      : [];
    const append = wanted.has('batched-over-single-append') ? await measureAppend(brokers, options) : [];
    return new Map([...projector, ...append]);
  } finally {
    await stop();
  }
}

async function started(): Promise<Started> {
  try {
    return await startContainers(process.env);
  } catch (error) {
    say('NOTHING WAS MEASURED: the figures on Kafka and Elasticsearch need Docker, or TEST_KAFKA_BROKERS and');
    say('TEST_ELASTICSEARCH_URL of running ones.');
    throw error;
  }
}
