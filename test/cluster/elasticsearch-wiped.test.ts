import { setTimeout as delay } from 'node:timers/promises';
import { KafkaEventLog } from '../../src/event-log/kafka/event-log.js';
import { systemClock } from '../../src/platform/clock.js';
import { systemIds } from '../../src/platform/ids.js';
import { reconcile } from '../../src/projections/upkeep/reconcile.js';
import { ask, Handles } from '../contract/elasticsearch.harness.js';
import { deleteTopics, newPrefix, silent } from '../contract/kafka.harness.js';
import { PATIENCE } from '../support/patience.js';
import { TestStore } from '../support/store.js';
import { clusterSuite } from './support.js';

const EVENTS = 300;

clusterSuite('a read model that is wiped under its projections', ({ kafkaBrokers, elasticsearchUrl }) => {
  const prefix = newPrefix();
  let log: KafkaEventLog;
  let handles: Handles;
  let store: TestStore;

  beforeAll(async () => {
    log = await KafkaEventLog.open({
      ...{ brokers: kafkaBrokers, topicPrefix: prefix, partitions: 3, replication: 1, logger: silent },
    });
    handles = new Handles(elasticsearchUrl);
    const made = systemIds(systemClock);
    store = new TestStore(log, await handles.open(), handles.retention, systemClock, () => made.next());
    store.start();
    await store.createOrg('acme');
    await store.setRetention('web', 1);
    await store.publish(EVENTS);
    await store.settled();
  });

  afterAll(async () => {
    await store.halt();
    await log.close();
    await handles.destroy();
    await deleteTopics(kafkaBrokers, prefix);
  });

  /** Asks Elasticsearch alone, so that nothing but the projections takes notice of what happened. */
  async function filled(events: number): Promise<void> {
    const deadline = Date.now() + 20_000 * PATIENCE;
    for (let found = 0; found < events; await delay(50)) {
      if (Date.now() > deadline) throw new Error(`${found} of ${events} events are there again`);
      await ask(elasticsearchUrl, 'POST', `/${handles.prefix}*/_refresh`);
      const path = `/${handles.prefix}*audit-events-*/_count?allow_no_indices=true&q=org:acme`;
      found = (await ask<{ count: number }>(elasticsearchUrl, 'GET', path)).count;
    }
  }

  async function differences() {
    await store.settled();
    const told = () => undefined;
    const { differences } = await reconcile(store.parts, { repair: false }, told, new AbortController().signal);
    return differences;
  }

  const NONE = { missing: 0, altered: 0, extra: 0, misplaced: 0 };

  test('is filled again though nothing is written', async () => {
    await handles.wipe();
    await filled(EVENTS);
    expect(await differences()).toEqual(NONE);
  });

  test('is filled again though the one topic took notice first, and made it anew, while the other went on', async () => {
    for (let round = 1; round <= 3; round += 1) {
      await handles.wipe();
      // As the projection of the other topic does: what this process writes to now is new, and empty.
      await store.model.progress('control');
      await store.publish(1, `after-${round}`);
      await filled(EVENTS + round);
      expect(await differences()).toEqual(NONE);
    }
  });
});
