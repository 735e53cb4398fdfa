import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { zstdCompressSync } from 'node:zlib';
import kafkajs, { type Message, type Producer } from 'kafkajs';
import { v7 } from 'uuid';
import { type Letter, readLetters } from '../../src/commands/dead-letter-box.js';
import { partitionOf } from '../../src/event-log/event-log.js';
import type { KafkaEventLog } from '../../src/event-log/kafka/event-log.js';
import { systemClock } from '../../src/platform/clock.js';
import { hasTime, systemIds } from '../../src/platform/ids.js';
import { ServiceSecret } from '../../src/platform/service-secret.js';
import { ask } from '../contract/elasticsearch.harness.js';
import { scaled, tell } from '../hardening/scale.js';
import { Org, type Sent } from '../support/api.js';
import { Instances } from '../support/instances.js';
import { PATIENCE } from '../support/patience.js';
import { randomFor } from '../support/random.js';
import { clusterSuite } from './support.js';

const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs;
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async ({ buffer }: { buffer: Buffer }) => zstdCompressSync(buffer),
  decompress: async (buffer: Buffer) => buffer,
});

const RECORDS = scaled(600, 2_000);
const PARTITIONS = 3;

clusterSuite('records that somebody else appended', ({ kafkaBrokers, elasticsearchUrl }) => {
  const instances = new Instances({ CONTROL_KAFKA_PARTITIONS: String(PARTITIONS) });
  const kafka = new Kafka({ brokers: [...kafkaBrokers], logLevel: logLevel.NOTHING });
  const prefix = instances.store.env['CONTROL_KAFKA_TOPIC_PREFIX'] ?? '';
  const random = randomFor('foreign records');
  const { pick } = random;
  const ids = systemIds(systemClock);
  let producer: Producer;
  let log: KafkaEventLog;
  let org: Org;

  beforeAll(async () => {
    const [url = ''] = await instances.start(2);
    org = new Org(url, 'acme', await instances.org(url, 'acme'));
    log = await instances.store.openLog();
    producer = kafka.producer();
    await producer.connect();
  });

  afterAll(async () => {
    await Promise.all([producer.disconnect(), log.close()]);
    await instances.remove();
  });

  const bytes = (most: number) => random.bytes(random.whole(1, most));
  const event = (change: object = {}) => ({
    id: ids.next(),
    eventTime: new Date().toISOString(),
    context: { org: 'acme', name: 'app' },
    resource: { name: 'foreign' },
    ...change,
  });
  const V1 = { v: '1' };
  const long = 'x'.repeat(40_000);

  /** Records that can never be indexed. */
  const unreadable: readonly (() => Omit<Message, 'partition'>)[] = [
    () => ({ value: bytes(300) }),
    () => ({ value: bytes(300), headers: V1 }),
    () => ({ value: null, headers: V1 }),
    () => ({ value: '{"id":', headers: V1 }),
    () => ({ value: 'null', headers: V1 }),
    () => ({ value: '[1]', headers: V1 }),
    () => ({ value: JSON.stringify(event()), headers: { v: long } }),
    () => ({ value: JSON.stringify(event()) }),
    () => ({ value: JSON.stringify(event({ id: { a: 1 } })), headers: V1 }),
    () => ({ value: JSON.stringify(event({ id: long })), headers: V1 }),
    () => ({ value: JSON.stringify(event({ context: { org: long, name: 'app' } })), headers: V1 }),
    () => ({ value: JSON.stringify(event({ resource: { id: { a: 1 } } })), headers: V1 }),
    () => ({ value: JSON.stringify(event({ resource: { name: ['a'] } })), headers: V1 }),
    () => ({ value: JSON.stringify(event({ subject: { email: 7 } })), headers: V1 }),
    () => ({ value: JSON.stringify(event({ eventTime: 'soon' })), headers: V1 }),
    () => ({ value: `${'['.repeat(100_000)}`, headers: V1 }),
    () => ({ value: Buffer.alloc(950_000, 'x'), headers: V1 }),
    () => ({ key: bytes(40), value: bytes(40), headers: { [bytes(9).toString('latin1')]: bytes(40) } }),
  ];

  /** Records that are events all the same. */
  const readable: readonly (() => Record<string, unknown> & { id: string })[] = [
    () => event(),
    () => event({ eventTime: '+275760-09-13T00:00:00.000Z' }),
    () => event({ eventTime: '-271821-04-20T00:00:00.000Z' }),
    () => event({ resource: { name: long, type: '\ud800' } }),
    () => event({ context: { org: 'acme', name: '__proto__' }, resource: { name: '' } }),
    // Identifiers of times that cannot be right, which count in one partition alone.
    () => event({ id: v7({ msecs: random.whole(Date.UTC(2050), 2 ** 48 - 1) }) }),
    () => event({ id: v7({ msecs: random.whole(0, Date.UTC(2020) - 1) }) }),
  ];

  async function until(condition: () => Promise<boolean> | boolean, what: string): Promise<void> {
    for (const deadline = Date.now() + 60_000 * PATIENCE; !(await condition()); await delay(100)) {
      if (Date.now() > deadline) throw new Error(`waited in vain until ${what}`);
    }
  }

  function load(acknowledged: Set<string>, failures: string[]): () => Promise<void> {
    let stopped = false;
    const publisher = async (who: number) => {
      for (let n = 0; !stopped; n += 1) {
        const options = n % 2 === 0 ? { idempotencyKey: `load-${who}-${n}` } : {};
        const { status, body, text } = await org.publish({ resource: { name: `load-${who}` } }, options);
        if (status === 201 || status === 202) acknowledged.add(body.id);
        else failures.push(`${status} ${text}`);
      }
    };
    const done = Promise.all([0, 1].map(publisher));
    return async () => {
      stopped = true;
      await done;
    };
  }

  const countOf = (letters: readonly Letter[], topic: string) =>
    letters.filter((letter) => letter.place.startsWith(`${topic}/`)).length;

  async function shownIds(): Promise<Set<string>> {
    return new Set((await org.walk('/audit/org/acme?order=received')).map(({ id }) => id));
  }

  test('are indexed, or become dead letters with their places, and nothing else waits for them', async () => {
    const [acknowledged, failures] = [new Set<string>(), [] as string[]];
    const sent = { audit: 0, dead: 0, progress: 0, events: new Set<string>() };
    const stop = load(acknowledged, failures);
    const deadBefore = (await log.head('audit.dead'))[0] ?? 0;
    while (sent.audit + sent.dead + sent.progress + sent.events.size < RECORDS) {
      const compression = pick([CompressionTypes.None, CompressionTypes.GZIP, CompressionTypes.ZSTD]);
      const events = Array.from({ length: 3 }, () => pick(readable)());
      const anywhere = () => random.whole(0, PARTITIONS - 1);
      const messages: Message[] = [
        ...events.map((one) => ({
          ...{ value: JSON.stringify(one), headers: V1 },
          partition: hasTime(one.id) ? anywhere() : partitionOf(one.id, PARTITIONS),
        })),
        ...Array.from({ length: 3 }, () => ({ ...pick(unreadable)(), partition: anywhere() })),
      ];
      // A broker takes one of the large ones in a batch, not two.
      const [large, small] = [true, false].map((is) => messages.filter(({ value }) => is === isLarge(value)));
      for (const some of [small ?? [], ...(large ?? []).map((one) => [one])]) {
        if (some.length > 0) await producer.send({ topic: `${prefix}audit`, messages: some, compression });
      }
      for (const { id } of events) sent.events.add(id);
      sent.audit += 3;
      await producer.send({ topic: `${prefix}audit.dead`, messages: [pick(unreadable)()], compression });
      sent.dead += 1;
      const garbage = [pick(unreadable)()].map((message) => ({ ...message, headers: pick([{}, V1]) }));
      await producer.send({ topic: `${prefix}progress`, messages: garbage, compression });
      sent.progress += 1;
    }
    await until(async () => {
      const letters = await readLetters(log);
      const own = [countOf(letters, 'audit'), countOf(letters, 'progress')];
      return own[0] === sent.audit && own[1] === sent.progress;
    }, `there are ${sent.audit} letters of audit and ${sent.progress} of progress`);
    await stop();
    const letters = await readLetters(log);

    expect(failures).toEqual([]);
    expect(countOf(letters, 'audit.dead')).toBe(sent.dead);
    expect(new Set(letters.map(({ place }) => place)).size).toBe(letters.length);
    expect(deadBefore).toBe(0);
    const expected = [...acknowledged, ...sent.events];
    await until(async () => {
      const shown = await shownIds();
      return expected.every((id) => shown.has(id));
    }, 'every event is shown');
    const counts = Object.entries({ ...sent, events: sent.events.size }).map(([name, count]) => `${count} ${name}`);
    tell(`${acknowledged.size} events acknowledged beside foreign records: ${counts.join(', ')}`);

    const root = instances.root(org.api.url);
    const listed = await root.get('/-dead-letters?limit=500&raw=true');
    expect(listed.status).toBe(200);
    expect((await root.post('/-rebuild', {} as Sent)).status).toBe(202);
    type Job = { state: string; report?: { unreadable: number } };
    let job: Job = { state: 'running' };
    await until(async () => {
      job = (await root.get<Job>('/-rebuild')).body;
      return job.state !== 'running';
    }, 'the rebuild has ended');
    expect(job).toMatchObject({ state: 'done', report: { unreadable: sent.audit } });
    const shown = await shownIds();
    expect(expected.filter((id) => !shown.has(id))).toEqual([]);
    // Each index takes a shard, of which Elasticsearch allows so many: identifiers of any year make none.
    const months = `${instances.store.env['CONTROL_ELASTICSEARCH_INDEX_PREFIX']}audit-events-*-*`;
    const indices = await ask<object>(elasticsearchUrl, 'GET', `/${months}`);
    expect(Object.keys(indices).length).toBeLessThanOrEqual(2);
    for (const id of sample([...sent.events])) {
      expect([id, (await org.api.get(`/audit/org/acme/id/${id}`)).status]).toEqual([id, 200]);
    }
  });

  /** Some of many, evenly. */
  const sample = (all: readonly string[]) => all.filter((_, at) => at % Math.ceil(all.length / 50) === 0);

  test('tell no process what is searchable: a well-formed update of the progress is a dead letter', async () => {
    const far = Number.MAX_SAFE_INTEGER;
    const before = countOf(await readLetters(log), 'progress');
    const outcomes = Array.from({ length: 100 }, (_, offset) => ({ offset, code: 'conflict', id: ids.next() }));
    const updates = Array.from({ length: PARTITIONS }, (_, partition) => ({
      ...{ topic: 'audit', generation: far, partition, indexed: far, searchable: far, outcomes },
    }));
    const other = new ServiceSecret('of another service');
    const messages = updates.flatMap((update) => {
      const value = JSON.stringify(update);
      const signed = { ...V1, mac: other.derived('progress', `${log.id}\n${value}`) };
      return [V1, signed].map((headers) => ({ value, headers, partition: 0 }));
    });
    await producer.send({ topic: `${prefix}progress`, messages });
    await until(
      async () => countOf(await readLetters(log), 'progress') === before + PARTITIONS,
      'each without a signature is a dead letter',
    );
    for (let n = 0; n < 20; n += 1) {
      const { status, body } = await org.publish({ resource: { name: `r${n}` } }, { idempotencyKey: `after-${n}` });
      expect([n, status]).toEqual([n, 201]);
      expect((await org.api.get(`/audit/org/acme/id/${body.id}`)).status).toBe(200);
    }
  });

  /** Records of control that no process can apply. */
  const foreign: readonly (() => Omit<Message, 'partition'>)[] = [
    ...unreadable,
    () => ({ value: '{}', headers: { v: '3' } }),
    () => ({ value: JSON.stringify({ ...command, events: [null] }), headers: { v: '3' } }),
    () => ({
      value: JSON.stringify({ ...command, events: [{ type: 'a', stream: 'b/c', auditId: 'd' }] }),
      headers: { v: '3' },
    }),
    () => ({ value: JSON.stringify({ ...command, events: [{ ...groupEdited, data: {} }] }), headers: { v: '3' } }),
    () => ({ value: JSON.stringify({ ...command, events: [groupEdited] }), headers: { v: '3' } }),
  ];
  const command = {
    ...{ commandId: 'c', at: '2026-01-01T00:00:00.000Z', expected: {} },
    by: { name: 'root', requestId: 'r', remoteIp: '' },
  };
  const groupEdited = {
    ...{ type: 'group-edited', stream: 'group/acme/g', auditId: 'a' },
    data: { id: 'i', org: 'acme', name: 'g', memberLinks: 7 },
  };

  const readyAt = (url: string) => fetch(`${url}/health/ready`);
  const isReady = async (url: string) => (await readyAt(url)).ok;
  const skip = (url: string, place: string) =>
    instances.root(url).post<{ place?: string; code?: string }>('/-dead-letters/-skip', { place });

  /** Appends a foreign record to control, and resolves with its place once the process says that it stopped there. */
  async function stoppedAt(url: string): Promise<string> {
    const message = pick(foreign)();
    const [appended] = await producer.send({ topic: `${prefix}control`, messages: [{ ...message, partition: 0 }] });
    const place = `control/0/${appended?.baseOffset}`;
    await until(
      async () => (await (await readyAt(url)).text()).includes(`svc dead-letter skip ${place}`),
      `it stops at ${place}`,
    );
    return place;
  }

  test('stop every process at their place in control, until the root key has them skipped', async () => {
    const { url } = org.api;
    const before = await shownIds();
    const places: string[] = [];
    for (let n = 0; n < scaled(4, 25); n += 1) {
      const place = await stoppedAt(url);
      expect((await readyAt(url)).status).toBe(503);
      expect(await skip(url, place)).toMatchObject({ status: 200, body: { place } });
      await until(() => isReady(url), 'it reads on');
      places.push(place);
    }

    const { status, body } = await org.publish({ resource: { name: 'after' } });
    expect(status).toBe(201);
    const made = await instances.root(url).post('/org', { name: 'after' });
    expect(made.status).toBe(201);
    expect((await readLetters(log)).filter(({ topic }) => topic === 'control').map(({ place }) => place)).toEqual(
      places,
    );
    expect((await skip(url, 'control/0/0')).body.code).toBe('conflict');
    expect((await skip(url, 'control/0/999999')).body.code).toBe('validation_failed');
    const shown = await shownIds();
    expect([...before, body.id].filter((id) => !shown.has(id))).toEqual([]);
    const journal = await instances.root(url).get('/audit/org/-service');
    expect(journal.text).toContain('"skip-record"');
    tell(`${places.length} records of control skipped`);
  });

  test('stop a process that starts, which takes the command before it is ready', async () => {
    await instances.stop();
    await instances.store.removeReadModel();
    const port = await freePort();
    const alone = new Instances(
      { CONTROL_PORT: String(port), CONTROL_KAFKA_PARTITIONS: String(PARTITIONS) },
      instances.store,
    );
    const url = `http://127.0.0.1:${port}`;
    const message = { ...pick(foreign)(), partition: 0 };
    const [appended] = await producer.send({ topic: `${prefix}control`, messages: [message] });
    const place = `control/0/${appended?.baseOffset}`;

    const started = alone.start(1);
    const says = async () => {
      const text = await readyAt(url).then(
        (response) => response.text(),
        () => '',
      );
      return text.includes(place);
    };
    await until(says, 'it names the place');
    expect((await new Org(url, 'acme', org.key).list()).status).toBe(503);
    expect(await skip(url, place)).toMatchObject({ status: 200 });

    await started;
    expect(await new Org(url, 'acme', org.key).list()).toMatchObject({ status: 200 });
    await alone.stop();
  });
});

function isLarge(value: Message['value']): boolean {
  return (value?.length ?? 0) > 100_000;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
