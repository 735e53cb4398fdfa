import { setTimeout as delay } from 'node:timers/promises';
import { KafkaEventLog } from '../../src/event-log/kafka/event-log.js';
import { systemClock } from '../../src/platform/clock.js';
import { keyedId, systemIds } from '../../src/platform/ids.js';
import type { ReconciliationReport } from '../../src/projections/upkeep/findings.js';
import { rebuild } from '../../src/projections/upkeep/rebuild.js';
import { reconcile } from '../../src/projections/upkeep/reconcile.js';
import type { ReadModel } from '../../src/read-model/read-model.js';
import { ask, Handles } from '../contract/elasticsearch.harness.js';
import { deleteTopics, newPrefix, silent } from '../contract/kafka.harness.js';
import { TestStore } from '../support/store.js';
import { clusterSuite } from './support.js';

const never = new AbortController().signal;
const told = () => undefined;
const NONE = { missing: 0, altered: 0, extra: 0, misplaced: 0 };
const NEVER_BEFORE = '01890a5d-ac96-7000-8000-000000000001';

clusterSuite('the jobs of an operator on Kafka and Elasticsearch', ({ kafkaBrokers, elasticsearchUrl }) => {
  const prefix = newPrefix();
  let log: KafkaEventLog;
  let handles: Handles;
  let other: ReadModel;
  let store: TestStore;
  const ids: string[] = [];
  const keyed = keyedId('event', 'acme', 'app', 'key');

  beforeAll(async () => {
    log = await KafkaEventLog.open({
      ...{ brokers: kafkaBrokers, topicPrefix: prefix, partitions: 3, replication: 1, logger: silent },
    });
    handles = new Handles(elasticsearchUrl);
    const model = await handles.open();
    other = await handles.open();
    const made = systemIds(systemClock);
    const next = () => {
      ids.push(made.next());
      return ids.at(-1) ?? '';
    };
    store = new TestStore(log, model, handles.retention, systemClock, next);
    store.start();
    await store.createOrg('acme');
    await store.publish(400);
    await log.append([
      store.event('keyed', { id: keyed, hash: 'h' }),
      store.event('keyed', { id: keyed, hash: 'h' }),
      store.event('old', { id: NEVER_BEFORE }),
      store.unreadable(),
    ]);
    for (const name of ['app', 'web']) {
      for (let version = 1; version <= 3; version += 1) await store.setRetention(name, version);
    }
    await store.settled();
  });

  afterAll(async () => {
    await store.halt();
    await log.close();
    await handles.destroy();
    await deleteTopics(kafkaBrokers, prefix);
  });

  const compare = (repair = false) => reconcile({ ...store.parts, model: other }, { repair }, told, never);
  const named = ({ items }: ReconciliationReport) =>
    items.map(({ problem, itemKind, id }) => `${problem} ${itemKind} ${id}`).sort();

  /** Goes on publishing, with a change of a view now and then, until it is stopped. */
  function writing(): () => Promise<void> {
    let stopped = false;
    const done = (async () => {
      for (let n = 0; !stopped; n += 1) {
        await log.append([store.event(`live-${n}`), store.event(`live-${n}`)]);
        if (n % 5 === 0) await store.setRetention('busy', 1 + n + Date.now());
        await delay(5);
      }
    })();
    return async () => {
      stopped = true;
      await done;
    };
  }

  interface Hit {
    readonly _index: string;
    readonly _id: string;
    readonly _source: Readonly<Record<string, unknown>>;
  }

  const es = <Answer = unknown>(method: string, path: string, body?: object) =>
    ask<Answer>(elasticsearchUrl, method, path, body);

  /** Where a document stands, as Elasticsearch has it. */
  async function find(kind: 'audit-events' | 'audit-keys' | 'org' | 'auditctx', id: string): Promise<Hit> {
    await es('POST', `/${handles.prefix}*/_refresh`);
    const query = { query: { term: { _id: `acme/${id}` } } };
    const { hits } = await es<{ hits: { hits: Hit[] } }>('POST', `/${handles.prefix}${kind}-*/_search`, query);
    const [hit] = hits.hits;
    if (!hit) throw new Error(`${kind} ${id} is not there`);
    return hit;
  }

  const path = ({ _index, _id }: Pick<Hit, '_index' | '_id'>) => `/${_index}/_doc/${encodeURIComponent(_id)}`;
  const write = (hit: Hit, change: object) => es('PUT', path(hit), { ...hit._source, ...change });

  const events = (n: number) => find('audit-events', ids[n] ?? '');

  /** Each spoils one document, and answers what a reconciliation calls it. */
  const faults: readonly (() => Promise<string>)[] = [
    async () => {
      await es('DELETE', path(await events(5)));
      return `missing auditevent ${ids[5]}`;
    },
    async () => {
      await write(await events(6), { source: '{}' });
      return `altered auditevent ${ids[6]}`;
    },
    async () => {
      await write(await events(7), { fields: {} });
      return `altered auditevent ${ids[7]}`;
    },
    async () => {
      await write(await events(8), { offset: 1, ordinal: 9 });
      return `altered auditevent ${ids[8]}`;
    },
    async () => {
      await write(await events(9), { partition: 'audit/77' });
      return `altered auditevent ${ids[9]}`;
    },
    async () => {
      const [hit, old] = [await events(10), await find('audit-events', NEVER_BEFORE)];
      await write({ ...hit, _index: old._index }, {});
      await es('DELETE', path(hit));
      return `misplaced auditevent ${ids[10]}`;
    },
    async () => {
      const [hit, old] = [await events(11), await find('audit-events', NEVER_BEFORE)];
      await write({ ...hit, _index: old._index }, {});
      return `misplaced auditevent ${ids[11]}`;
    },
    async () => {
      await es('DELETE', path(await find('audit-keys', keyed)));
      return `misplaced auditevent ${keyed}`;
    },
    async () => {
      await write({ ...(await events(12)), _id: 'acme/forged' }, { id: 'forged' });
      return 'extra auditevent forged';
    },
    async () => {
      await write({ ...(await events(12)), _id: 'acme/beyond' }, { id: 'beyond', offset: 9_000_000 });
      return 'extra auditevent beyond';
    },
    async () => {
      await write(await find('auditctx', 'app'), { source: '{}' });
      return 'altered auditctx app';
    },
    async () => {
      await es('DELETE', path(await find('auditctx', 'web')));
      return 'missing auditctx web';
    },
    async () => {
      await es('DELETE', path(await find('audit-events', 'web-set-2')));
      return 'missing auditevent web-set-2';
    },
  ];

  test('a reconciliation names what differs and nothing else, and repairs it, while events come in', async () => {
    expect((await compare()).differences).toEqual(NONE);
    const expected: string[] = [];
    for (const fault of faults) expected.push(await fault());
    await es('POST', `/${handles.prefix}*/_refresh`);
    const stop = writing();
    const found = await compare();
    const repaired = await compare(true);
    const after = await compare();
    await stop();

    expect(named(found)).toEqual(expected.sort());
    expect([named(repaired), repaired.repaired]).toEqual([expected, expected.length]);
    expect(named(after)).toEqual([]);
    await store.settled();
    expect(named(await compare())).toEqual([]);
    for (const id of [...ids.slice(0, 400), keyed, NEVER_BEFORE]) {
      expect((await other.get('auditevent', 'acme', id))?.id).toBe(id);
    }
  });

  test('a rebuild by one process puts right what differs, while another writes and reads', async () => {
    const [before] = faults;
    await before?.();
    const stop = writing();
    const missed: string[] = [];
    let reading = true;
    const reader = (async () => {
      for (let n = 20; reading; n += 1) {
        const id = ids[20 + (n % 300)] ?? '';
        if (!(await store.model.get('auditevent', 'acme', id))) missed.push(id);
      }
    })();
    const { generation } = await other.progress('audit');
    const report = await rebuild({ ...store.parts, model: other }, told, never);
    const again = await rebuild({ ...store.parts, model: other }, told, never);
    await stop();
    reading = false;
    await reader;
    await store.settled();

    expect(missed).toEqual([]);
    expect(report).toMatchObject({ unreadable: 1, differences: { missing: 1, altered: 0, extra: 0 } });
    expect(report.generation).toBeGreaterThan(generation);
    expect(again.differences).toEqual({ missing: 0, altered: 0, extra: 0 });
    expect((await compare()).differences).toEqual(NONE);
    expect((await store.model.progress('audit')).generation).toBe(again.generation);
  });
});
