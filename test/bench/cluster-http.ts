import { join } from 'node:path';
import { Bare, Topics } from './cluster-store.ts';
import { type Options, Rounds, say } from './figures.ts';
import { Generator } from './generator.ts';
import { asyncPublish, echo, type Load, type Measured, measure, run, syncPublish } from './loads.ts';
import { createOrg, Server, startProcess, stop, type Target } from './server.ts';

/** How long the projector lets events gather while a publisher waits: `ElasticsearchReadModel.refreshMs.waited`. */
const REFRESH_MS = 100;
const WARM_UP_SECONDS = 15;
const SECRET = 'bench-secret-that-protects-nothing-0123456789abcdef';
/** Single events of so many resources are in every partition. */
const EVERY_PARTITION = 256;
const ATTEMPTS = 10;

export const CLUSTER_HTTP_FIGURES = [
  'cluster-async-over-echo',
  'cluster-sync-over-echo',
  'cluster-api-cpu-over-echo',
  'cluster-projector-cpu-over-echo',
  'cluster-sync-p50-over-refresh',
  'cluster-sync-p99-over-refresh',
];

interface Cluster {
  /** Both API processes. */
  readonly api: Target;
  readonly projector: Server;
  readonly key: string;
}

/** Of one load on the cluster, with the CPU time that the projector took for an event, in milliseconds. */
interface Taken extends Measured {
  readonly projected: number;
}

/** Two API processes, which share the connections, and a projector: what publishers get, and what each process takes. */
export async function measureClusterHttp(brokers: readonly string[], url: string, options: Options): Promise<Rounds> {
  await using started = new AsyncDisposableStack();
  const { api, projector, key } = await startCluster(brokers, url, started);
  const bare = echo(started.adopt(await Server.start(join(import.meta.dirname, 'peers/echo.ts')), stop));
  const generator = started.adopt(new Generator(), (process) => process.close());
  const [async, sync] = [asyncPublish(api, key), syncPublish(api, key)];
  const publish = async (load: Load, seconds: number, label: string): Promise<Taken> => {
    const before = projector.cpuMs() ?? Number.NaN;
    const measured = await measure(generator, load, seconds, label);
    await indexed(generator, sync);
    const projected = ((projector.cpuMs() ?? Number.NaN) - before) / (measured.count + EVERY_PARTITION);
    say(`${label}: ${load.name}, the projector: ${(projected * 1000).toFixed(0)} us CPU an event`);
    return { ...measured, projected };
  };
  const round = async (seconds: number, label: string) => ({
    echoed: await measure(generator, bare, seconds, label),
    posted: await publish(async, seconds, label),
    waited: await publish(sync, seconds, label),
  });
  await round(WARM_UP_SECONDS, 'warm-up');
  const rounds = new Rounds();
  for (let number = 1; number <= options.rounds; number += 1) {
    const { echoed, posted, waited } = await round(options.seconds, `round ${number}`);
    rounds.add([
      ['cluster-async-over-echo', posted.events / echoed.events],
      ['cluster-sync-over-echo', waited.events / echoed.events],
      ['cluster-api-cpu-over-echo', posted.cpu / echoed.cpu],
      ['cluster-projector-cpu-over-echo', posted.projected / echoed.cpu],
      ['cluster-sync-p50-over-refresh', waited.p50 / REFRESH_MS],
      ['cluster-sync-p99-over-refresh', waited.p99 / REFRESH_MS],
    ]);
  }
  return rounds;
}

/** Waits for all that was published: what comes before a sync publish in its partition is searchable when that is. */
async function indexed(generator: Generator, sync: Load): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await run(generator, sync, 120, EVERY_PARTITION);
      return;
    } catch (error) {
      // Some were answered with 202: they are not searchable yet.
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

async function startCluster(brokers: readonly string[], url: string, started: AsyncDisposableStack): Promise<Cluster> {
  const topics = new Topics(brokers);
  started.defer(() => topics.remove());
  const bare = started.adopt(new Bare(url), (elasticsearch) => elasticsearch.close());
  const indexPrefix = topics.prefix.replace('.', '-');
  started.defer(() => bare.remove(indexPrefix));
  const start = async (role: 'api' | 'projector') =>
    started.adopt(
      await startProcess({
        CONTROL_STORE: 'cluster',
        CONTROL_ROLES: role,
        CONTROL_SECRET: SECRET,
        CONTROL_KAFKA_BROKERS: brokers.join(','),
        CONTROL_KAFKA_TOPIC_PREFIX: topics.prefix,
        CONTROL_KAFKA_REPLICATION: '1',
        CONTROL_ELASTICSEARCH_URL: url,
        CONTROL_ELASTICSEARCH_INDEX_PREFIX: indexPrefix,
        CONTROL_ELASTICSEARCH_REPLICAS: '0',
      }),
      stop,
    );
  const [projector, ...apis] = await Promise.all([start('projector'), start('api'), start('api')]);
  if (!projector || !apis[0]) throw new Error('a process did not start');
  const cpuMs = () => apis.reduce((sum, server) => sum + (server.cpuMs() ?? Number.NaN), 0);
  const key = await createOrg(apis[0].url, 'bench');
  return { api: { port: apis.map(({ port }) => port), cpuMs }, projector, key };
}
