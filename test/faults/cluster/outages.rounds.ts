import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { COMPILED_ONCE, freePort, startElasticsearch, startKafkaCluster } from '../../support/containers.js';
import { randomOf, SEED } from '../../support/random.js';
import { bodyOf, Client } from '../client.js';
import { removeCompiled } from '../process.js';
import { Cluster, eventually, FULL, MINUTES, outageSuite, ROOT_KEY, ROUNDS, report, SECONDS } from './cluster.js';
import { bodyFor, Ledger, ORG, PUBLISH } from './ledger.js';
import { codeOf, Load } from './load.js';

const SYNC_MS = 2_000;
const OUTAGE_MS = (FULL ? 30 : 8) * SECONDS;

const docker = (...args: string[]) => execFileSync('docker', args, { stdio: 'ignore' });

outageSuite('a store that goes away under load', () => {
  let cluster: Cluster;
  let stopStore: () => Promise<unknown> = async () => undefined;
  let urls: string[];
  let key: string;
  afterEach(async () => {
    await Load.stopAll();
    await cluster.remove();
    await stopStore();
  }, 3 * MINUTES);
  afterAll(removeCompiled);

  async function begin(settings: Record<string, string>): Promise<Load & { readonly ledger: Ledger }> {
    cluster = new Cluster({ CONTROL_SYNC_TIMEOUT_MS: `${SYNC_MS}`, ...settings });
    cluster.spawn('projector');
    urls = await cluster.apis(2);
    // The first events make the indices, which may take longer than such a short wait.
    key = await eventually('the organization is found', async () => {
      const answer = await new Client(urls[0] ?? '', ROOT_KEY).post('/org', { name: ORG }, { 'idempotency-key': ORG });
      return answer.status === 201 && bodyOf<{ key: string }>(answer).key;
    });
    const ledger = new Ledger();
    return Object.assign(new Load({ urls, key, ledger, random: randomOf(SEED) }).start(), { ledger });
  }

  const timed = async (path: string, ledger: Ledger, marker: string) => {
    const start = Date.now();
    const sent = ledger.add(marker, 'one by one');
    const answer = await new Client(urls[0] ?? '', key).post(path, bodyFor(sent));
    if (answer.status === 201 || answer.status === 202) ledger.acknowledge(sent, JSON.parse(answer.text).id);
    return { status: answer.status, ms: Date.now() - start };
  };
  const recovered = (ledger: Ledger, name: string) =>
    eventually('publishes are found at once again', async () => {
      const { status } = await timed(PUBLISH, ledger, `${name} ${Date.now()}`);
      return status === 201;
    });

  test(
    'Elasticsearch: events are recorded all the same, reads say so, and all is found afterwards',
    async () => {
      const port = await freePort();
      const elasticsearch = await startElasticsearch(process.env, { port, javaOptions: COMPILED_ONCE });
      stopStore = () => elasticsearch.stop();
      const load = await begin({ CONTROL_ELASTICSEARCH_URL: `http://127.0.0.1:${port}` });
      const { ledger } = load;
      await delay(3 * SECONDS);

      load.excused.add('read_model_unavailable');
      docker('stop', '-t', '0', elasticsearch.getId());
      const until = Date.now() + OUTAGE_MS;
      for (let n = 0; Date.now() < until; n += 1) {
        const sync = await timed(PUBLISH, ledger, `sync ${n}`);
        expect([sync.status, sync.ms >= SYNC_MS, sync.ms < 3 * SYNC_MS]).toEqual([202, true, true]);
        const async = await timed(`${PUBLISH}?async=true`, ledger, `async ${n}`);
        expect([async.status, async.ms < SYNC_MS]).toEqual([202, true]);
        for (const path of [
          `/audit/org/${ORG}`,
          `/audit/org/${ORG}/id/${[...(ledger.acknowledged[0]?.ids ?? [])][0]}`,
        ]) {
          const read = await new Client(urls[1] ?? '', key).get(path);
          expect([path, read.status, codeOf(read)]).toEqual([path, 503, 'read_model_unavailable']);
        }
      }
      const recorded = ledger.counts.recorded;
      docker('start', elasticsearch.getId());
      await recovered(ledger, 'after');
      await eventually(
        'reads serve',
        async () => (await new Client(urls[0] ?? '', key).get(`/audit/org/${ORG}`)).status === 200,
      );
      await load.stop();
      await ledger.check(urls[1] ?? '', key, 2 * MINUTES);
      report(
        `Elasticsearch away for ${OUTAGE_MS} ms: ${recorded} recorded meanwhile, ${JSON.stringify(ledger.counts)}`,
      );
      expect(recorded).toBeGreaterThan(5);
    },
    10 * MINUTES,
  );

  test(
    'Kafka: what is answered with success is there once, what is refused as not recorded is not',
    async () => {
      const kafka = await startKafkaCluster(process.env, 1);
      stopStore = () => kafka.stop();
      const load = await begin({ CONTROL_KAFKA_BROKERS: kafka.brokers.join() });
      const { ledger } = load;
      const restarts = FULL ? 5 : 2;
      for (let round = 1; round <= restarts; round += 1) {
        await delay(2 * SECONDS);
        for (const code of ['log_unavailable', 'outcome_unknown', 'state_unconfirmed'] as const) load.excused.add(code);
        const id = kafka.containers[0]?.getId() ?? '';
        docker('kill', id);
        await delay(round * SECONDS);
        docker('start', id);
        await recovered(ledger, `round ${round}`);
        ledger.expectNoFaults();
      }
      await load.stop();
      await ledger.check(urls[1] ?? '', key, 2 * MINUTES);
      report(`broker killed: ${restarts} of ${restarts}, ${ROUNDS} rounds, ${JSON.stringify(ledger.counts)}`);
    },
    10 * MINUTES,
  );
});
