import { type LogEntry, type Offsets, PositionOutOfRange, partitionOf } from '../../src/event-log/event-log.js';
import { KafkaEventLog } from '../../src/event-log/kafka/event-log.js';
import { systemClock } from '../../src/platform/clock.js';
import { readConfig } from '../../src/platform/config/config.js';
import { systemIds } from '../../src/platform/ids.js';
import { auditProjection } from '../../src/projections/audit.js';
import { deleteExpired } from '../../src/projections/expired-records.js';
import { rebuild } from '../../src/projections/upkeep/rebuild.js';
import { reconcile } from '../../src/projections/upkeep/reconcile.js';
import { Handles } from '../contract/elasticsearch.harness.js';
import { deleteTopics, newPrefix, silent } from '../contract/kafka.harness.js';
import { sweep } from '../contract/read-model.harness.js';
import { Org } from '../support/api.js';
import { Instances } from '../support/instances.js';
import { TestStore } from '../support/store.js';
import { clusterSuite } from './support.js';

const never = new AbortController().signal;
const told = () => undefined;
const PARTITIONS = 3;
const NONE = { missing: 0, altered: 0, extra: 0 };

clusterSuite('expired records in Kafka', ({ kafkaBrokers, elasticsearchUrl }) => {
  const prefix = newPrefix();
  const handles = new Handles(elasticsearchUrl);
  const open = (deleteExpired: boolean) =>
    KafkaEventLog.open({
      ...{ brokers: kafkaBrokers, topicPrefix: prefix, partitions: PARTITIONS, replication: 1, logger: silent },
      deleteExpired,
    });
  let log: KafkaEventLog;
  let store: TestStore;
  let made: ReturnType<typeof systemIds>;
  /** The head of `audit` when all its events of `app` so far were to expire, and what served there first. */
  let expiring: Offsets;

  /** So many events of the context, all in this partition. */
  function eventsIn(partition: number, count: number, context: string): LogEntry[] {
    const events: LogEntry[] = [];
    for (let n = 0; events.length < count; n += 1) {
      const event = store.event(`${context}-${n}`, { context });
      if (partitionOf(event.key, PARTITIONS) === partition) events.push(event);
    }
    return events;
  }

  const remove = (before = Date.now() + 60_000) => {
    const { model, retention } = store;
    const deleteBefore = (ends: Offsets) => log.deleteBefore(ends);
    return deleteExpired({ log, deleteBefore, model, projection: auditProjection, retention, before }, never);
  };
  const namesOf = async () => {
    const { items } = await store.model.search('auditevent', {
      ...{ org: 'acme', limit: 1_000, order: 'received' },
      filters: [{ field: 'contextName', op: '=', value: 'web' }],
    });
    return items.map(({ id }) => id);
  };

  beforeAll(async () => {
    log = await open(true);
    made = systemIds(systemClock);
    store = new TestStore(log, await handles.open(), handles.retention, systemClock, () => made.next());
    store.start();
    await store.createOrg('acme');
    for (let partition = 0; partition < PARTITIONS; partition += 1) await log.append(eventsIn(partition, 50, 'app'));
    // In two partitions something is served behind what expires.
    await log.append([store.unreadable(), ...eventsIn(0, 1, 'web'), ...eventsIn(1, 1, 'web')]);
    await log.append(eventsIn(0, 20, 'app'));
    expiring = await log.head('audit');
    await store.settled();
    await store.model.refresh();
  });

  afterAll(async () => {
    await store.halt();
    await log.close();
    await handles.destroy();
    await deleteTopics(kafkaBrokers, prefix);
  });

  test('stay while they are served, are younger than the limit, or are not indexed', async () => {
    expect(await remove()).toBe(0);
    handles.retention.setLimit('acme', 'app', Date.now() + 60_000);
    expect(await remove(Date.now() - 60_000)).toBe(0);
    const behind = { ...store.model, progress: async () => ({ generation: 1, next: { 0: 0 } }) };
    const deleteBefore = (ends: Offsets) => log.deleteBefore(ends);
    const { retention } = store;
    const parts = {
      log,
      deleteBefore,
      model: behind,
      projection: auditProjection,
      retention,
      before: Date.now() + 60_000,
    };
    expect(await deleteExpired(parts, never)).toBe(0);
    expect(Object.values(await log.beginning('audit'))).toEqual([0, 0, 0]);
  });

  test('are deleted up to the oldest one of their partition that is served', async () => {
    const freed = await remove();

    const beginning = await log.beginning('audit');
    const dead = partitionOf('k', PARTITIONS);
    expect(beginning).toEqual({ 0: dead === 0 ? 51 : 50, 1: dead === 1 ? 51 : 50, 2: expiring[2] });
    expect(freed).toBe(Object.values(beginning).reduce((sum, first) => sum + first, 0));
    expect(await remove()).toBe(0);
  });

  test('are missed by no rebuild, reconciliation or refill', async () => {
    const before = await namesOf();
    expect(before).toHaveLength(2);
    const report = await rebuild(store.parts, told, never);
    expect(report.differences).toEqual(NONE);
    expect((await store.model.progress('audit')).next).toEqual(expiring);
    const compared = await reconcile(store.parts, {}, told, never);
    expect(compared.differences).toEqual({ ...NONE, misplaced: 0 });
    expect(await namesOf()).toEqual(before);

    await handles.wipe();
    await store.settled();
    await store.model.refresh();
    expect(await namesOf()).toEqual(before);
    expect(await log.head('audit')).toEqual(expiring);
    await log.append(eventsIn(2, 3, 'web'));
    await store.settled();
    await store.model.refresh();
    expect(await namesOf()).toHaveLength(5);
    expect(await sweep(store.model)).toBe(0);
    expect((await reconcile(store.parts, { repair: true }, told, never)).repaired).toBe(0);
  });

  test('are missed aloud by a process that is not told of them', async () => {
    const other = await open(false);
    const reading = (async () => {
      for await (const _batch of other.read('audit', {}, never)) break;
    })();
    await expect(reading).rejects.toBeInstanceOf(PositionOutOfRange);
    await expect(reading).rejects.toThrow('CONTROL_KAFKA_DELETE_EXPIRED=true');
    await other.close();
  });
});

clusterSuite('a service whose log begins late', () => {
  const instances = new Instances({ CONTROL_KAFKA_DELETE_EXPIRED: 'true' });
  afterAll(() => instances.remove());

  test('becomes ready on an empty read model, and indexes what comes', async () => {
    const [first = ''] = await instances.start(1);
    const org = new Org(first, 'acme', await instances.org(first, 'acme'));
    const items = Array.from({ length: 60 }, (_, n) => ({ resource: { name: `r${n}` } }));
    expect((await org.bulk(items)).body.succeeded).toBe(60);
    await instances.stop();
    const { cluster } = readConfig({ ...instances.store.env, CONTROL_KAFKA_DELETE_EXPIRED: 'true' });
    if (!cluster) throw new Error('the configuration is of a cluster');
    const log = await KafkaEventLog.open({ ...cluster.kafka, logger: silent });
    await log.deleteBefore(await log.head('audit'));
    await log.close();
    await instances.store.removeReadModel();

    const [again = ''] = await instances.start(1);
    const after = new Org(again, 'acme', org.key);
    expect((await after.api.get('/health/ready')).status).toBe(200);
    const list = `${after.audit}?contextName=app&pageSize=100`;
    expect((await after.walk(list)).map(({ id }) => id)).toEqual([]);
    const published = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => after.publish({ resource: { name: `n${n}` } })));
    expect(published.map(({ status }) => status)).toEqual(Array(6).fill(201));
    expect(await after.walk(list)).toHaveLength(6);
  });
});
