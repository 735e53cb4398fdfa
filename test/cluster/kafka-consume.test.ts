import type { LogRecord } from '../../src/event-log/event-log.js';
import { entries, isAscending, placeOf, texts } from '../contract/event-log.harness.js';
import { settled, sleep, until } from '../contract/harness.js';
import { PATIENCE } from '../support/patience.js';
import { KafkaWorld, type Member, member } from './kafka-support.js';
import { clusterSuite } from './support.js';

const SESSION_MS = 10_000;

clusterSuite('consuming from Kafka in a group', ({ kafkaBrokers }) => {
  let world = new KafkaWorld(kafkaBrokers);
  beforeEach(() => {
    world = new KafkaWorld(kafkaBrokers);
  });
  afterEach(() => world.close());

  const now = (one: Member): number[] => one.assigned.at(-1) ?? [];
  const shared = (...members: Member[]): boolean =>
    [0, 1, 2].every((partition) => members.filter((one) => now(one).includes(partition)).length === 1);

  test('shares the partitions between two processes, and what one leaves the other takes over', async () => {
    const done = new Map<number, number>();
    const [a, b] = [await world.open(), await world.open()];
    const first = member(a, 'g', { done });
    await until(() => now(first).length === 3, 'the first has all partitions');
    await a.append(entries(100, 'alone'));
    const second = member(b, 'g', { done });
    await until(() => now(second).length > 0 && shared(first, second), 'the partitions are shared');
    await a.append(entries(200, 'shared'));
    await until(() => handled(first, second) >= 300, 'all is handled');
    expect(second.records().length).toBeGreaterThan(0);

    await first.stop();
    await until(() => now(second).length === 3, 'the second has all partitions');
    await b.append(entries(100, 'left'));

    await until(() => handled(first, second) >= 400, 'all is handled');
    await second.stop();
    const all = [...first.records(), ...second.records()];
    expect(new Set(all.map(placeOf)).size).toBe(400);
    expect(inOrder(first.records()) && inOrder(second.records())).toBe(true);
  });

  test('takes over at once what a process gives back that leaves', async () => {
    const [a, b] = [await world.open(), await world.open()];
    const [first, second] = [member(a, 'g'), member(b, 'g')];
    await until(() => now(second).length > 0 && shared(first, second), 'the partitions are shared');
    const started = Date.now();

    await first.stop();
    await until(() => now(second).length === 3, 'the second has all partitions');

    expect(Date.now() - started).toBeLessThan(SESSION_MS / 2);
    await second.stop();
  });

  test('takes over from a process that vanished, when its session has run out', async () => {
    const done = new Map<number, number>();
    const proxy = await world.proxy();
    const [a, b] = [await world.open({ route: () => proxy.address }), await world.open()];
    const [first, second] = [member(a, 'g', { done }), member(b, 'g', { done })];
    await until(() => now(second).length > 0 && shared(first, second), 'the partitions are shared');
    proxy.refuse();
    await b.append(entries(100, 'n'));

    await waitFor(() => now(second).length === 3, 2 * SESSION_MS);
    await until(() => new Set(second.records().map(placeOf)).size === 100, 'all is handled');

    proxy.accept();
    await until(() => now(first).length > 0 && shared(first, second), 'the first is back');
    await first.stop();
    await second.stop();
  });

  test('leaves members without partitions idle, and ready', async () => {
    const logs = await Promise.all(Array.from({ length: 4 }, () => world.open()));
    const members = logs.map((log) => member(log, 'g'));
    await until(() => members.every((one) => one.assigned.length > 0) && shared(...members), 'all are assigned');
    const idle = members.find((one) => now(one).length === 0);
    expect(idle).toBeDefined();

    const [busy] = members.filter((one) => now(one).length > 0);
    await busy?.stop();
    await until(() => now(idle as Member).length === 1, 'the idle one has a partition');

    await Promise.all(members.map((one) => one.stop()));
  });

  test('keeps its partitions while one batch takes longer than a session', async () => {
    const [a, b] = [await world.open(), await world.open()];
    const first = member(a, 'g', { topic: 'control', handle: () => sleep(SESSION_MS + 3_000) });
    await until(() => first.assigned.length === 1, 'the partition is assigned');
    await a.append(entries(3, 'slow', { topic: 'control' }));
    await sleep(100);

    await waitFor(() => first.batches.length > 0, SESSION_MS + 10_000);

    expect(first.assigned).toEqual([[0]]);
    expect(texts(first.records()).length).toBeGreaterThan(0);
    await first.stop();
    await b.close();
  });

  test('never hands over two batches of a partition at once, though the group shares out anew meanwhile', async () => {
    const [a, b] = [await world.open(), await world.open()];
    let inHand = 0;
    let most = 0;
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const first = member(a, 'g', {
      topic: 'control',
      handle: async () => {
        most = Math.max(most, ++inHand);
        await released;
        inHand -= 1;
      },
    });
    await a.append(entries(3, 'stuck', { topic: 'control' }));
    await until(() => inHand === 1, 'a batch is in hand');
    const second = member(b, 'g', { topic: 'control' });
    await waitFor(() => second.assigned.length > 0, 20_000);
    await second.stop();
    await waitFor(() => now(first).length === 1 && first.assigned.length > 1, 20_000);
    await a.append(entries(3, 'later', { topic: 'control' }));
    await sleep(1000);
    release();

    await until(() => texts(first.records()).includes('later2'), 'all is handled');
    expect(most).toBe(1);
    await first.stop();
  });

  test('goes on through cut connections, every record at least once and in order', async () => {
    const proxy = await world.proxy();
    const [log, writer] = [await world.open({ route: () => proxy.address }), await world.open()];
    const run = member(log, 'g');
    const cutting = setInterval(() => proxy.cut(), 150);
    for (let round = 0; round < 40; round += 1) {
      await writer.append(entries(20, `${round}-`));
      await sleep(20);
    }
    clearInterval(cutting);

    await until(() => new Set(run.records().map(placeOf)).size === 800, 'all is handled');
    await run.stop();
    expect(inOrder(run.records())).toBe(true);
  });

  test('goes on when Kafka is back, with the error of nobody', async () => {
    const proxy = await world.proxy();
    const [log, writer] = [await world.open({ route: () => proxy.address }), await world.open()];
    const run = member(log, 'g');
    await until(() => now(run).length === 3, 'the partitions are assigned');
    proxy.refuse();
    await writer.append(entries(50, 'during'));
    await sleep(1500);
    proxy.accept();

    await until(() => new Set(run.records().map(placeOf)).size === 50, 'all is handled');
    expect(await settled(run.stop())).toEqual({ value: undefined });
  });

  test('ends at once when it is aborted while Kafka is away', async () => {
    const proxy = await world.proxy();
    const log = await world.open({ route: () => proxy.address });
    const run = member(log, 'g');
    await until(() => now(run).length === 3, 'the partitions are assigned');
    proxy.onAnswer = () => 'drop';
    const started = Date.now();

    await run.stop();

    expect(Date.now() - started).toBeLessThan(6_000 * PATIENCE);
  });

  test('commits no offsets', async () => {
    const log = await world.open();
    const run = member(log, 'g');
    await log.append(entries(10, 'a'));
    await until(() => run.records().length === 10, 'all is handled');

    const offsets = await (await world.admin()).fetchOffsets({ groupId: `${world.prefix}g` });

    expect(offsets).toEqual([]);
    await run.stop();
  });

  test('ends with PositionOutOfRange where the records at the answered place were deleted', async () => {
    const log = await world.open();
    await log.append(entries(10, 'a', { topic: 'control' }));
    await world.deleteRecordsBefore(4, 'control');

    const run = member(log, 'g', { topic: 'control', done: new Map([[0, 2]]) });

    expect(await settled(run.ended)).toMatchObject({ error: { name: 'PositionOutOfRange' } });
    expect(run.batches).toEqual([]);
  });
});

const handled = (...members: Member[]): number => new Set(members.flatMap((one) => one.records()).map(placeOf)).size;

/** The order of each partition, within one stretch of ownership; what is handed over again starts a new one. */
function inOrder(records: readonly LogRecord[]): boolean {
  return [...Map.groupBy(records, ({ partition }) => partition).values()].every((own) =>
    isAscending([...new Set(own.map(({ offset }) => offset))]),
  );
}

async function waitFor(condition: () => boolean, ms: number): Promise<void> {
  const deadline = Date.now() + ms;
  while (!condition() && Date.now() < deadline) await sleep(20);
  expect(condition()).toBe(true);
}
