import { keyedId } from '../../src/platform/ids.js';
import type { Write } from '../../src/read-model/document.js';
import type { ReadModel } from '../../src/read-model/read-model.js';
import { Gate, Handles } from '../contract/elasticsearch.harness.js';
import { sleep } from '../contract/harness.js';
import { allItems, event, idAt, ids, ORG, place, START } from '../contract/read-model.harness.js';
import { COMPILED_ONCE, startElasticsearch } from '../support/containers.js';
import { randomFor } from '../support/random.js';
import { containerSuite } from './support.js';

const random = randomFor('restart');
const DAY_MS = 24 * 60 * 60 * 1000;
const PARTITIONS = [0, 1, 2];

const start = () => startElasticsearch(process.env, { javaOptions: COMPILED_ONCE });

containerSuite('an Elasticsearch that fails', () => {
  test('has after it was killed everything that its progress says', async () => {
    const container = await start();
    await carryOver(container.getHttpUrl(), async (gate) => {
      await container.restart({ timeout: 0 });
      gate.target = container.getHttpUrl();
    });
    await container.stop();
  }, 240_000);

  test('is filled again from the start when it has lost everything', async () => {
    const [first, second] = await Promise.all([start(), start()]);
    await carryOver(first.getHttpUrl(), async (gate) => {
      await first.stop();
      gate.target = second.getHttpUrl();
    });
    await second.stop();
  }, 240_000);
});

/** Carries partitions into a read model like a projector does, while Elasticsearch fails; all of it must be there. */
async function carryOver(url: string, fail: (gate: Gate) => Promise<void>): Promise<void> {
  const gate = await Gate.open(url);
  const handles = new Handles(gate.url);
  const model = await handles.open();
  const logs = PARTITIONS.map(() => [] as Write[]);
  let isGrowing = true;
  const growing = (async () => {
    while (isGrowing) {
      for (const [partition, log] of logs.entries()) log.push(recordOf(partition, log.length));
      await sleep(5);
    }
  })();
  let isFailing = true;
  const carrying = logs.map((log, partition) => carry(model, partition, log, () => isFailing));
  const refreshing = (async () => {
    while (isFailing) {
      await model.refresh().catch(() => undefined);
      await sleep(50);
    }
  })();
  await sleep(1_500);
  await fail(gate);
  await sleep(3_000);
  isGrowing = false;
  await growing;
  isFailing = false;
  await Promise.all([...carrying, refreshing]);
  await model.refresh();

  const shown = await allItems(model, { order: 'received', limit: 1000 });
  for (const [partition, log] of logs.entries()) {
    expect(ids(shown.filter(({ place: at }) => at.partition === partition))).toEqual(ids(log));
  }
  expect((await model.count('auditevent', ORG)).get('shop')).toBe(logs.flat().length);
  await handles.destroy();
  await gate.close();
}

/** Until the end of the log, once nothing fails any more. */
async function carry(model: ReadModel, partition: number, log: readonly Write[], goesOn: () => boolean): Promise<void> {
  let next = 0;
  while (goesOn() || next < log.length) {
    try {
      const end = Math.min(log.length, next + 50);
      await model.apply('audit', log.slice(next, end), { [partition]: end });
      next = end;
      await sleep(10);
    } catch (error) {
      await sleep(100);
      if ((error as Error).name === 'GenerationLost') next = await told(model, partition);
    }
  }
}

async function told(model: ReadModel, partition: number): Promise<number> {
  for (;;) {
    const progress = await model.progress('audit').catch(() => undefined);
    if (progress) return progress.next[partition] ?? 0;
    await sleep(100);
  }
}

function recordOf(partition: number, n: number): Write {
  const tie = random.bytes(5).readUIntBE(0, 5);
  const day = (tie % 80) * DAY_MS;
  const id = tie % 3 === 0 ? keyedId(ORG, 'shop', `${partition}/${n}`) : idAt(day, tie);
  return event(n, { id, place: place(n, { partition, time: START + day }), hash: 'h' });
}
