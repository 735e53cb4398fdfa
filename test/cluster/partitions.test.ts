import { setTimeout as delay } from 'node:timers/promises';
import { type Admin, Kafka, logLevel, type Message, type Producer } from 'kafkajs';
import { partitionOf } from '../../src/event-log/event-log.js';
import type { KafkaEventLog } from '../../src/event-log/kafka/event-log.js';
import { hasTime } from '../../src/platform/ids.js';
import { scaled, tell } from '../hardening/scale.js';
import { type Event, Org, type Sent } from '../support/api.js';
import { Instances } from '../support/instances.js';
import { PATIENCE } from '../support/patience.js';
import { clusterSuite } from './support.js';

const BEFORE = 3;
const AFTER = 8;
const KEYS = scaled(60, 600);
const FORGED = 20;

type Job = { readonly state: string; readonly report?: { readonly differences: Readonly<Record<string, number>> } };

clusterSuite('partitions of audit', ({ kafkaBrokers }) => {
  const instances = new Instances({ CONTROL_KAFKA_PARTITIONS: String(BEFORE) });
  const kafka = new Kafka({ brokers: [...kafkaBrokers], logLevel: logLevel.NOTHING });
  const topic = `${instances.store.env['CONTROL_KAFKA_TOPIC_PREFIX']}audit`;
  let admin: Admin;
  let producer: Producer;
  let log: KafkaEventLog;
  let orgs: Org[];
  const [acknowledged, failures] = [new Map<string, Sent>(), [] as string[]];

  beforeAll(async () => {
    const [one = '', two = ''] = await instances.start(2);
    const key = await instances.org(one, 'acme');
    orgs = [new Org(one, 'acme', key), new Org(two, 'acme', key)];
    log = await instances.store.openLog();
    [admin, producer] = [kafka.admin(), kafka.producer()];
    await Promise.all([admin.connect(), producer.connect()]);
  });

  afterAll(async () => {
    await Promise.all([admin.disconnect(), producer.disconnect(), log.close()]);
    await instances.remove();
  });

  const org = (n = 0) => orgs[n % orgs.length] as Org;
  const keyed = (n: number, body: string) =>
    org(n).publish({ resource: { name: `r${n}` }, action: { type: body } }, { idempotencyKey: `key-${n}` });

  async function until(condition: () => Promise<boolean> | boolean, what: string): Promise<void> {
    for (const deadline = Date.now() + 90_000 * PATIENCE; !(await condition()); await delay(50)) {
      if (Date.now() > deadline) throw new Error(`waited in vain until ${what}`);
    }
  }

  /** Publishes by both instances until it is stopped; every event must be acknowledged. */
  function load(): () => Promise<void> {
    let stopped = false;
    const publisher = async (who: number) => {
      for (let n = 0; !stopped; n += 1) {
        const event = { resource: { name: `load-${who}-${n}` } };
        const options = n % 2 === 0 ? { idempotencyKey: `load-${who}-${n}` } : {};
        const { status, body, text } = await org(who).publish(event, { ...options, async: n % 4 > 1 });
        if (status !== 201 && status !== 202) failures.push(`${status} ${text}`);
        else acknowledged.set(body.id, event);
      }
    };
    const done = Promise.all([0, 1, 2, 3].map(publisher));
    return async () => {
      stopped = true;
      await done;
    };
  }

  async function job(name: 'rebuild' | 'reconcile', body: Sent): Promise<Job> {
    const root = instances.root(org().api.url);
    const started = await root.post<Job & { id: string }>(`/-${name}`, body);
    expect(started.status).toBe(202);
    let last = started.body as Job;
    const ended = async () => {
      last = (await root.get<Job>(`/-${name}`)).body;
      return last.state !== 'running';
    };
    await until(ended, `the ${name} has ended`);
    expect(last).toMatchObject({ state: 'done' });
    return last;
  }

  /** Everything that the organization's list shows, by identifier; none twice. */
  async function shown(): Promise<ReadonlyMap<string, Event>> {
    const events = await org().walk('/audit/org/acme?order=received');
    const byId = new Map(events.map((event) => [event.id, event]));
    expect(byId.size).toBe(events.length);
    return byId;
  }

  test('are added under load and taken up, and every identifier keeps its first event', async () => {
    const first = await Promise.all(Array.from({ length: KEYS }, (_, n) => keyed(n, 'first')));
    expect(first.map(({ status }) => status)).toEqual(first.map(() => 201));
    const stop = load();
    await until(() => acknowledged.size > 50, 'the load runs');

    await admin.createPartitions({ topicPartitions: [{ topic, count: AFTER }] });

    const grown = async () => {
      const head = await log.head('audit');
      return Array.from({ length: AFTER }, (_, at) => head[at] ?? 0).every((end) => end > 0);
    };
    await until(grown, 'every new partition has events');
    const again = await Promise.all(first.map((_, n) => keyed(n, 'first')));
    const refused = await Promise.all(first.map((_, n) => keyed(n, 'refused')));
    await stop();

    expect(failures).toEqual([]);
    expect(again.map(({ status, body }) => [status, body.id])).toEqual(first.map(({ body }) => [201, body.id]));
    expect(refused.map(({ status }) => status)).toEqual(first.map(() => 409));
    const ids = first.map(({ body }) => body.id);
    // Otherwise the test shows nothing: with the new number, other partitions would be theirs.
    expect(ids.filter((id) => partitionOf(id, AFTER) !== partitionOf(id, BEFORE)).length).toBeGreaterThan(KEYS / 4);
    await until(async () => {
      const found = await shown();
      return [...acknowledged.keys(), ...ids].every((id) => found.has(id));
    }, 'every acknowledged event is shown');
    tell(`${acknowledged.size + KEYS} events acknowledged, ${failures.length} failed, ${KEYS} of ${KEYS} refused`);
  });

  test('never let a forged record with an existing identifier win, in live work, a rebuild or a repair', async () => {
    const before = await shown();
    const genuine = [...before.values()];
    const derived = genuine.filter(({ id }) => !hasTime(id)).slice(0, FORGED);
    const plain = genuine.filter(({ id, context }) => hasTime(id) && context.name === 'app').slice(0, FORGED);
    const own = genuine.filter(({ context }) => context.name === 'svc').slice(0, FORGED);
    const chosen = [...derived, ...plain, ...own];
    expect(chosen.length).toBeGreaterThan(2 * FORGED);
    const messages: Message[] = chosen.flatMap(({ receivedTime: _, ...event }) =>
      Array.from({ length: AFTER }, (_, partition) => ({
        partition,
        key: `forged-${partition}`,
        headers: { v: '1', hash: 'forged' },
        value: JSON.stringify({ ...event, action: { type: 'forged' } }),
      })),
    );
    await producer.send({ topic, messages });
    const ends = await log.head('audit');
    await org().publish({ resource: { name: 'last' } });
    const indexed = async () => {
      const { items } = (
        await instances.root(org().api.url).get<{ items: readonly unknown[] }>('/-dead-letters?limit=500')
      ).body;
      return items.length >= derived.length * (AFTER - 1);
    };
    await until(indexed, 'the forged records of derived identifiers are dead letters');

    const unchanged = async () => {
      const after = await shown();
      return [...before.values()].filter((event) => JSON.stringify(after.get(event.id)) !== JSON.stringify(event));
    };
    const live = await unchanged();
    await job('rebuild', {});
    const rebuilt = await unchanged();
    const { report } = await job('reconcile', { repair: true });
    const repaired = await unchanged();

    expect([live, rebuilt, repaired]).toEqual([[], [], []]);
    expect(report?.differences).toEqual({ missing: 0, altered: 0, extra: 0, misplaced: 0 });
    tell(
      `${messages.length} records forged in ${Object.keys(ends).length} partitions, 0 of ${before.size} events altered`,
    );
  });

  test('are taken up by a process that starts later, and a wiped read model has the same again', async () => {
    const isReconciliation = ({ action }: Event) => action?.type === 'reconcile';
    await until(async () => [...(await shown()).values()].some(isReconciliation), 'the reconciliation is shown');
    const before = await shown();
    await instances.stop();
    await instances.store.removeReadModel();
    const [url = ''] = await instances.start(1);
    orgs = [new Org(url, 'acme', org().key)];

    const after = await shown();

    expect([...after].sort()).toEqual([...before].sort());
    const refused = await Promise.all(Array.from({ length: KEYS }, (_, n) => keyed(n, 'refused')));
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 409));
  });
});
