import { type Started, startContainers } from '../support/containers.ts';
import { measureAppend } from './cluster-append.ts';
import { CLUSTER_HTTP_FIGURES, measureClusterHttp } from './cluster-http.ts';
import { measureProjector } from './cluster-projector.ts';
import { type Options, type Rounds, say } from './figures.ts';

type Report = (rounds: Rounds, measured: readonly string[]) => void;

/** On the Kafka and Elasticsearch that the environment names, or else on containers of the run's own. */
export async function measureCluster(options: Options, wanted: ReadonlySet<string>, report: Report): Promise<void> {
  const { kafkaBrokers, elasticsearchUrl, stop } = await started();
  const brokers = kafkaBrokers.split(',');
  try {
    if (wanted.has('projector-over-bulk')) {
      report(await measureProjector(brokers, elasticsearchUrl, options), ['projector-over-bulk']);
    }
    if (wanted.has('batched-over-single-append')) {
      report(await measureAppend(brokers, options), ['batched-over-single-append']);
    }
    if (CLUSTER_HTTP_FIGURES.some((figure) => wanted.has(figure))) {
      report(await measureClusterHttp(brokers, elasticsearchUrl, options), CLUSTER_HTTP_FIGURES);
    }
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
