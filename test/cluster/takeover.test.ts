import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { openClusterStore } from '../../src/composition/cluster-store.js';
import type { Store } from '../../src/composition/store.js';
import { UnreadableRecord } from '../../src/event-log/event-log.js';
import { systemClock } from '../../src/platform/clock.js';
import { readConfig } from '../../src/platform/config/config.js';
import { Metrics } from '../../src/platform/metrics.js';
import { ServiceSecret } from '../../src/platform/service-secret.js';
import type { ProgressFeed } from '../../src/progress/progress-feed.js';
import { auditProjection } from '../../src/projections/audit.js';
import { controlProjection } from '../../src/projections/control.js';
import type { Projection } from '../../src/projections/projection.js';
import { ProjectionRunner } from '../../src/projections/projection-runner.js';
import { KEEP_ALL } from '../../src/read-model/retention.js';
import { bodyOf, Client } from '../faults/client.js';
import { newClusterStore } from '../support/cluster-store.js';
import { TEST_SECRETS } from '../support/secrets.js';
import { startService, type TestService } from '../support/service.js';
import { clusterSuite } from './support.js';

const MEMORY = 512 * 1024 * 1024;
const logger = pino({ level: 'silent' });
const PATH = '/audit/org/acme/auditctx/app';
const event = (marker: string) => ({ resource: { name: 'r', data: { marker } } });

/** A projector that another version of the program made: it cannot read what this one wrote. */
const OLDER: Projection = {
  ...auditProjection,
  start() {
    const project = auditProjection.start();
    return (record) => {
      if (Buffer.from(record.value).includes('unreadable')) throw new UnreadableRecord('is of another version');
      return project(record);
    };
  },
};

clusterSuite('a projector that dies between its progress and what it has to say', () => {
  const cluster = newClusterStore();
  const env = { ...cluster.env, CONTROL_KAFKA_PARTITIONS: '1' };
  const stores = new AsyncDisposableStack();
  const stop = new AbortController();
  const loops: Promise<unknown>[] = [];
  const runners: (() => Promise<void>)[] = [];
  let store: Store;
  let api: TestService;
  let key: string;

  /** Runs a projection until it is ended; `publish` is how it tells what it has done. */
  function run(projection: Projection, publish: ProgressFeed['publish']): () => Promise<void> {
    const end = new AbortController();
    const feed = { publish, subscribe: () => () => undefined };
    const runner = new ProjectionRunner(store.log, store.model, feed, projection, new Metrics(), logger);
    const running = runner.run(end.signal);
    const ended = async () => {
      end.abort();
      await running;
    };
    runners.push(ended);
    return ended;
  }

  beforeAll(async () => {
    const { cluster: config } = readConfig(env);
    if (!config) throw new Error('the configuration is of a cluster');
    const secret = new ServiceSecret(TEST_SECRETS.CONTROL_SECRET);
    store = openClusterStore(config, MEMORY, KEEP_ALL, systemClock, secret, logger, stores);
    loops.push(...store.run(stop.signal));
    run(controlProjection, (update) => store.feed.publish(update));
    api = await startService({ env: { ...env, CONTROL_ROLES: 'api', CONTROL_SYNC_TIMEOUT_MS: '60000' } });
    key = (await new Client(api.url, api.rootKey).org('acme')).key;
  });

  afterAll(async () => {
    await api?.remove();
    await Promise.all(runners.map((end) => end()));
    stop.abort();
    await stores.disposeAsync();
    await Promise.all(loops);
    await cluster.remove();
  });

  const publish = (marker: string, idempotencyKey: string) =>
    new Client(api.url, key).post(PATH, event(marker), { 'idempotency-key': idempotencyKey });

  /** Publishes while a projector indexes and never says so, and lets another take over. */
  async function takenOver(projection: Projection, publishes: () => Promise<number[]>): Promise<number[]> {
    const told = Promise.withResolvers<void>();
    const dead = Promise.withResolvers<void>();
    const die = run(projection, async (update) => {
      if (update.outcomes.length === 0) return;
      told.resolve();
      await dead.promise;
      throw new Error('it is dead');
    });
    const answers = publishes();
    await told.promise;
    const died = die();
    dead.resolve();
    await died;
    const end = run(auditProjection, (update) => store.feed.publish(update));
    return await answers.finally(end);
  }

  test('a conflicting publish is never told 201, and a repetition always is', async () => {
    const statuses = await takenOver(auditProjection, async () => {
      const { 0: before = 0 } = await store.log.head('audit');
      const first = publish('first', 'k');
      while (((await store.log.head('audit'))[0] ?? 0) <= before) await delay(20);
      const others = await Promise.all([first, publish('first', 'k'), publish('other', 'k'), publish('first', 'k')]);
      expect(bodyOf<{ code: string }>(others[2] as (typeof others)[0]).code).toBe('idempotency_conflict');
      return others.map(({ status }) => status);
    });
    expect(statuses).toEqual([201, 201, 409, 201]);
  });

  test('what it moved to the dead letters is not told 201', async () => {
    const statuses = await takenOver(OLDER, async () => {
      const answers = await Promise.all([publish('unreadable', 'u'), publish('sound', 's')]);
      return answers.map(({ status }) => status);
    });
    expect(statuses).toEqual([202, 201]);
  });
});
