import { KafkaEventLog } from '../../src/event-log/kafka/event-log.js';
import { StoreUnusable } from '../../src/platform/store-unusable.js';
import { entry, readAll, texts } from '../contract/event-log.harness.js';
import { settled } from '../contract/harness.js';
import { PATIENCE } from '../support/patience.js';
import { KafkaWorld } from './kafka-support.js';
import { clusterSuite } from './support.js';

const TOPIC_RESOURCE = 2;

/** As the service makes them, where there is one broker. */
const SOUND = {
  'retention.ms': '-1',
  'retention.bytes': '-1',
  'cleanup.policy': 'delete',
  'message.timestamp.type': 'LogAppendTime',
  'min.insync.replicas': '1',
  'unclean.leader.election.enable': 'false',
  'max.message.bytes': '1048588',
};

clusterSuite('topics in Kafka', ({ kafkaBrokers }) => {
  let world = new KafkaWorld(kafkaBrokers);
  beforeEach(() => {
    world = new KafkaWorld(kafkaBrokers);
  });
  afterEach(() => world.close());

  async function settingsOf(topic: string): Promise<Record<string, string>> {
    const resources = [{ type: TOPIC_RESOURCE, name: world.prefix + topic }];
    const described = await (await world.admin()).describeConfigs({ resources, includeSynonyms: false });
    const entries = described.resources[0]?.configEntries ?? [];
    return Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]));
  }

  test('are made so that nothing expires, with one partition but for audit', async () => {
    const log = await world.open({ partitions: undefined });

    expect(Object.keys(await log.head('audit'))).toHaveLength(12);
    for (const topic of ['audit', 'control', 'audit.dead', 'checkpoints'])
      expect(await settingsOf(topic)).toMatchObject(SOUND);
    for (const topic of ['control', 'audit.dead', 'progress', 'checkpoints'] as const)
      expect(await log.head(topic)).toEqual({ 0: 0 });
    expect(await settingsOf('progress')).toMatchObject({ 'retention.ms': '3600000', 'segment.ms': '600000' });
  });

  test.each(['audit', 'control', 'audit.dead', 'checkpoints'] as const)(
    'of an operator are taken as they are: %s',
    async (topic) => {
      await world.makeTopic(topic, 1, { ...SOUND, 'max.message.bytes': '2000000', 'segment.bytes': '104857600' });

      const log = await world.open({ partitions: undefined });

      await log.append([entry('a', { topic })]);
      expect(texts(await readAll(log, topic))).toEqual(['a']);
    },
  );

  test.each([
    ['audit', 'retention.ms', '604800000', '-1'],
    ['control', 'retention.ms', '604800000', '-1'],
    ['audit.dead', 'retention.ms', '604800000', '-1'],
    ['audit', 'retention.bytes', '1000000', '-1'],
    ['control', 'cleanup.policy', 'compact', 'delete'],
    ['audit', 'cleanup.policy', 'compact,delete', 'delete'],
    ['audit', 'message.timestamp.type', 'CreateTime', 'LogAppendTime'],
    ['control', 'unclean.leader.election.enable', 'true', 'false'],
    ['audit', 'min.insync.replicas', '2', '1'],
    ['control', 'max.message.bytes', '500000', '1048588'],
    ['audit', 'compression.type', 'lz4', 'producer'],
    ['progress', 'max.message.bytes', '500000', '1048588'],
  ] as const)('are refused when %s has %s=%s', async (topic, setting, is, must) => {
    await world.makeTopic(topic, 1, { ...SOUND, [setting]: is });

    const opening = await settled(world.open({ partitions: undefined }));

    const name = world.prefix + topic;
    expect(opening).toMatchObject({ error: { name: 'StoreUnusable' } });
    const { message } = (opening as { error: Error }).error;
    expect(message).toContain(`${name}: ${setting} is ${is} and must be ${must}; kafka-configs.sh --bootstrap-server `);
    expect(message).toContain(`--alter --topic ${name} --add-config ${setting}=${must}`);
  });

  test.each([
    ['control', 2],
    ['progress', 3],
    ['audit.dead', 2],
  ] as const)('are refused when %s has %i partitions', async (topic, partitions) => {
    await world.makeTopic(topic, partitions, SOUND);

    await expect(world.open()).rejects.toThrow(`${world.prefix}${topic}: has ${partitions} partitions and must have 1`);
  });

  test('are refused when audit has fewer partitions than are configured, with the command that adds them', async () => {
    await world.makeTopic('audit', 4, SOUND);

    await expect(world.open({ partitions: 5 })).rejects.toThrow(
      `${world.prefix}audit: has 4 partitions and must have 5; add some: ` +
        `kafka-topics.sh --bootstrap-server ${kafkaBrokers[0]} --alter --topic ${world.prefix}audit --partitions 5`,
    );
    for (const partitions of [undefined, 3]) {
      const log = await world.open({ partitions });
      expect(Object.keys(await log.head('audit'))).toEqual(['0', '1', '2', '3']);
    }
  });

  test('are refused with every fault at once', async () => {
    await world.makeTopic('audit', 3, { ...SOUND, 'retention.ms': '1000', 'retention.bytes': '1000' });
    await world.makeTopic('control', 2, SOUND);

    const { error } = (await settled(world.open())) as { error: Error };

    expect(error).toBeInstanceOf(StoreUnusable);
    expect(error.message.split('\n')).toHaveLength(4);
  });

  test('need as many replicas as are configured', async () => {
    for (const topic of ['audit', 'control', 'audit.dead', 'progress', 'checkpoints'] as const)
      await world.makeTopic(topic, 1, SOUND);

    await expect(world.open({ partitions: 1, replication: 3 })).rejects.toThrow(
      `${world.prefix}audit: has 1 replicas and must have 3; add replicas with kafka-reassign-partitions.sh`,
    );
  });

  test('cannot be made by too few brokers, and what to do is said', async () => {
    const { error } = (await settled(world.open({ replication: 3 }))) as { error: Error };

    expect(error).toBeInstanceOf(StoreUnusable);
    expect(error.message).toContain('start 3 brokers, or set CONTROL_KAFKA_REPLICATION=1 if there is only one');
  });

  test('are made once by five processes that start at once, and all see one log', async () => {
    const logs = await Promise.all(Array.from({ length: 5 }, () => world.open()));

    expect(new Set(logs.map(({ id }) => id)).size).toBe(1);
    await Promise.all(logs.map((log, index) => log.append([entry(`${index}`, { topic: 'control' })])));
    const seen = await Promise.all(logs.map(async (log) => texts(await readAll(log, 'control'))));
    expect(seen[0]).toHaveLength(5);
    expect(new Set(seen.map(String)).size).toBe(1);
  });

  test.each(['control', 'audit'] as const)('that are made again are another log: %s', async (topic) => {
    const first = await world.open();
    await first.append([entry('before', { topic })]);
    await first.close();
    await (await world.admin()).deleteTopics({ topics: [world.prefix + topic] });

    const second = await world.open();

    expect(second.id).not.toBe(first.id);
    expect(await readAll(second, topic)).toEqual([]);
  });
});

clusterSuite('opening a log in Kafka', ({ kafkaBrokers }) => {
  test('fails within seconds with log_unavailable where no broker listens', async () => {
    const started = Date.now();
    const options = new KafkaWorld(['127.0.0.1:1', 'localhost:1']).options();

    await expect(KafkaEventLog.open(options)).rejects.toMatchObject({ name: 'ControlError', code: 'log_unavailable' });
    expect(Date.now() - started).toBeLessThan(3_000 * PATIENCE);
  });

  test('fails within seconds with log_unavailable where nobody answers, and leaves no connection', async () => {
    const world = new KafkaWorld(kafkaBrokers);
    const proxy = await world.proxy();
    proxy.onAnswer = () => 'drop';
    const started = Date.now();

    const opening = KafkaEventLog.open(world.options({ route: () => proxy.address }));

    await expect(opening).rejects.toMatchObject({ name: 'ControlError', code: 'log_unavailable' });
    expect(Date.now() - started).toBeLessThan(10_000 * PATIENCE);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(proxy.open).toBe(0);
    await world.close();
  });

  test('passes over brokers that do not answer', async () => {
    const world = new KafkaWorld(['127.0.0.1:1', ...kafkaBrokers]);

    const log = await world.open();

    expect((await log.append([entry('a')])).length).toBe(1);
    await world.close();
  });

  test('refuses an address that is none', async () => {
    const options = new KafkaWorld(['kafka']).options();

    await expect(KafkaEventLog.open(options)).rejects.toThrow(
      new StoreUnusable('a broker is named as host:port, not as "kafka"'),
    );
  });

  test('leaves no connection behind when it is closed', async () => {
    const world = new KafkaWorld(kafkaBrokers);
    const proxy = await world.proxy();
    const log = await world.open({ route: () => proxy.address });
    await log.append([entry('a')]);
    const stop = new AbortController();
    const reading = log.read('audit', {}, stop.signal)[Symbol.asyncIterator]();
    await reading.next();
    expect(proxy.open).toBeGreaterThan(0);

    await log.close();

    expect((await reading.next()).done).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(proxy.open).toBe(0);
    await world.close();
  });
});
