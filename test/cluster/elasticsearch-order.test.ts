import { keyedId } from '../../src/platform/ids.js';
import type { Write } from '../../src/read-model/document.js';
import type { ReadModel } from '../../src/read-model/read-model.js';
import type { Cursor } from '../../src/read-model/search.js';
import { withHandles } from '../contract/elasticsearch.harness.js';
import { sleep } from '../contract/harness.js';
import {
  allItems,
  event,
  idAt,
  ids,
  ORG,
  pages,
  place,
  START,
  search,
  store,
  throughJson,
} from '../contract/read-model.harness.js';
import { randomFor } from '../support/random.js';
import { clusterSuite } from './support.js';

const random = randomFor('order');
const DAY_MS = 24 * 60 * 60 * 1000;
const PARTITIONS = [0, 1, 2, 3];
const EACH = 1250;

clusterSuite('the order received over many indices and processes', ({ elasticsearchUrl }) => {
  const it = withHandles(elasticsearchUrl);

  it('shows a follower everything once, in order, while two processes write to three months', async (handles) => {
    const [one, other, reader] = [await handles.open(), await handles.open(), await handles.open()];
    const written = PARTITIONS.map((partition) => Array.from({ length: EACH }, (_, n) => scattered(partition, n)));
    let isWriting = true;
    const shown: string[] = [];
    let cursor: Cursor | undefined;
    const follow = async () => {
      const page = await search(reader, {
        order: 'received',
        limit: 1 + (shown.length % 97),
        ...(cursor && { cursor }),
      });
      shown.push(...ids(page.items));
      cursor = throughJson(page.cursor);
      return page.more;
    };
    const following = (async () => {
      while (isWriting) await follow();
    })();
    const refreshing = [one, other].map(async (model, n) => {
      while (isWriting) {
        await model.refresh();
        await sleep(10 + 20 * n);
      }
    });

    await Promise.all(written.map((writes, partition) => project(partition % 2 ? one : other, partition, writes)));
    isWriting = false;
    await Promise.all([following, ...refreshing]);
    const early = shown.length;
    await Promise.all([one.refresh(), other.refresh()]);
    while (await follow());

    expect(early).toBeGreaterThan(100);
    expect(shown).toHaveLength(PARTITIONS.length * EACH);
    const numbers = new Map(written.flatMap((writes, partition) => writes.map(({ id }, n) => [id, { partition, n }])));
    const byPartition = Map.groupBy(
      shown.map((id) => numbers.get(id)),
      (spot) => spot?.partition,
    );
    for (const partition of PARTITIONS) {
      expect(byPartition.get(partition)?.map((spot) => spot?.n)).toEqual(Array.from({ length: EACH }, (_, n) => n));
    }
  });

  it('shows nothing of a record before everything before it is searchable, whoever refreshes', async (handles) => {
    const [one, other] = [await handles.open(), await handles.open()];
    const [early, late] = [0, 40].map((day, n) => event(n, { id: idAt(day * DAY_MS + n), place: place(n) }));
    if (!early || !late) return;
    await Promise.all([one.refresh(), other.refresh()]);
    await one.apply('audit', [early], { 0: 1 });
    // It was told nothing of the other, but carries the partition on, and refreshes the month of its own document.
    await other.apply('audit', [late], { 0: 2 });
    await other.refresh();
    const before = await search(one, { order: 'received' });
    await one.refresh();
    const then = await search(one, { order: 'received', ...(before.cursor && { cursor: before.cursor }) });

    expect([...ids(before.items), ...ids(then.items)]).toEqual([early.id, late.id]);
  });

  it('reads 30,000 documents of one resource to the end, by cursor, in both orders', async (handles) => {
    const model = await handles.open();
    const fields = { resourceName: 'one' };
    const writes = Array.from({ length: 30_000 }, (_, n) =>
      event(n, {
        id: idAt(n * 60_000),
        fields: { ...fields, eventTime: START + (n % 1000) },
        place: place(n, { partition: n % 3 }),
      }),
    );
    await store(model, writes);
    const filters = [{ field: 'resourceName', op: '=', value: 'one' }] as const;

    const received = await allItems(model, { order: 'received', filters, limit: 1000 });
    expect(ids(received)).toEqual(ids(writes));
    const list = await pages(model, { filters, limit: 1000 });
    expect(list).toHaveLength(30);
    const newest = list.flatMap(({ items }) => items);
    expect(new Set(ids(newest)).size).toBe(30_000);
    const times = newest.map(({ fields: { eventTime } }) => Number(eventTime));
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    const deep = await search(model, { filters, offset: 10_000, limit: 1000 });
    expect(ids(deep.items)).toEqual(ids(newest.slice(10_000, 11_000)));
    const deepReceived = await search(model, { order: 'received', filters, offset: 10_000, limit: 1000 });
    expect(ids(deepReceived.items)).toEqual(ids(writes.slice(10_000, 11_000)));
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 30_000]]));
  }, 180_000);
});

/** Of three months at random, by the identifier or by the record's time. */
function scattered(partition: number, n: number): Write {
  const tie = random.bytes(5).readUIntBE(0, 5);
  const day = (tie % 80) * DAY_MS;
  const id = tie % 3 === 0 ? keyedId(ORG, 'shop', `${partition}/${n}`) : idAt(day, tie);
  return event(n, { id, place: place(n, { partition, time: START + day }), hash: 'h' });
}

/** As a projector does, in batches of any size. */
async function project(model: ReadModel, partition: number, writes: readonly Write[]): Promise<void> {
  for (let start = 0; start < writes.length; ) {
    const end = Math.min(writes.length, start + random.whole(1, 60));
    await model.apply('audit', writes.slice(start, end), { [partition]: end });
    start = end;
  }
}
