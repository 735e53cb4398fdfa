import type { ReadModel } from '../../src/read-model/read-model.js';
import {
  allItems,
  codes,
  controlPlace,
  documentOf,
  event,
  idAt,
  ids,
  type ModelCases,
  NEWEST_FIRST,
  nextOf,
  none,
  ORG,
  pages,
  place,
  put,
  remove,
  search,
  store,
} from './read-model.harness.js';

export function progressCases({ it }: ModelCases): void {
  it('stands at 0 before anything is applied', async ({ model }) => {
    expect(nextOf(await model.progress('audit'), 0, 1)).toEqual([0, 0]);
    expect(nextOf(await model.progress('control'), 0)).toEqual([0]);
  });

  it('takes progress without any writes, and writes without progress', async ({ model }) => {
    expect(await model.apply('audit', [], { 1: 7 })).toEqual([]);
    await model.apply('audit', [event(3)], none);

    expect(nextOf(await model.progress('audit'), 0, 1)).toEqual([0, 7]);
  });

  it('never goes backward, though the writes that come with an older progress are applied', async ({ model }) => {
    await model.apply('audit', [event(9)], { 0: 10 });

    expect(codes(await model.apply('audit', [event(4)], { 0: 5 }))).toEqual(['applied']);

    expect(nextOf(await model.progress('audit'), 0)).toEqual([10]);
    expect(await model.get('auditevent', ORG, idAt(4))).toBeDefined();
  });

  it('moves only the partitions that are named', async ({ model }) => {
    await model.apply('audit', [], { 0: 3, 1: 5, 2: 7 });
    await model.apply('audit', [event(8)], { 1: 9 });

    expect(nextOf(await model.progress('audit'), 0, 1, 2)).toEqual([3, 9, 7]);
  });

  it('moves some partitions forward and leaves others that are older, in one call', async ({ model }) => {
    await model.apply('audit', [], { 0: 10, 1: 10 });
    await model.apply('audit', [], { 0: 5, 1: 15 });

    expect(nextOf(await model.progress('audit'), 0, 1)).toEqual([10, 15]);
  });

  it('keeps the progress of each topic', async ({ model }) => {
    await model.apply('audit', [event(1)], { 0: 2 });
    await model.apply('control', [put('robot', 4)], { 0: 5 });

    expect(nextOf(await model.progress('audit'), 0)).toEqual([2]);
    expect(nextOf(await model.progress('control'), 0)).toEqual([5]);
  });

  it('moves the progress of the topic that is applied, not that of the places', async ({ model }) => {
    await model.apply('control', [event(7, { place: controlPlace(7) })], { 0: 8 });

    expect(nextOf(await model.progress('audit'), 0)).toEqual([0]);
    expect(nextOf(await model.progress('control'), 0)).toEqual([8]);
  });

  it('removes at a reset what came from the topic, and nothing else', async ({ model }) => {
    await model.apply('audit', [event(1), event(2)], { 0: 3 });
    await model.apply('control', [put('robot', 1), event(5, { place: controlPlace(1, { ordinal: 1 }) })], { 0: 2 });

    await model.reset('audit');
    await model.refresh();

    expect(ids((await search(model)).items)).toEqual([idAt(5)]);
    expect(await model.get('auditevent', ORG, idAt(1))).toBeUndefined();
    expect(await model.get('serviceaccount', ORG, 'robot')).toBeDefined();
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 1]]));
    expect(nextOf(await model.progress('control'), 0)).toEqual([2]);
  });

  it('removes at a reset of control every kind that came from it, events too', async ({ model }) => {
    await model.apply(
      'control',
      [put('robot', 1), put('x', 1, { kind: 'org' }), event(5, { place: controlPlace(1) })],
      none,
    );
    await model.apply('audit', [event(1)], none);

    await model.reset('control');
    await model.refresh();

    expect(await model.get('serviceaccount', ORG, 'robot')).toBeUndefined();
    expect(await model.get('org', ORG, 'x')).toBeUndefined();
    expect(ids((await search(model)).items)).toEqual([idAt(1)]);
  });

  it('starts a new generation at 0 with each reset, of that topic only', async ({ model }) => {
    await model.apply('audit', [event(1)], { 0: 2, 1: 3 });
    const [before, other] = [await model.progress('audit'), await model.progress('control')];

    await model.reset('audit');
    const after = await model.progress('audit');
    await model.reset('audit');

    expect(after.generation).toBeGreaterThan(before.generation);
    expect(nextOf(after, 0, 1)).toEqual([0, 0]);
    expect((await model.progress('audit')).generation).toBeGreaterThan(after.generation);
    expect((await model.progress('control')).generation).toBe(other.generation);
  });

  it('grows the generation with every one of several concurrent resets', async ({ model }) => {
    const { generation } = await model.progress('audit');

    await Promise.all([model.reset('audit'), model.reset('audit'), model.reset('audit')]);

    expect((await model.progress('audit')).generation).toBeGreaterThanOrEqual(generation + 3);
  });

  it('forgets at a reset what was deleted: an older put is new again', async ({ model }) => {
    await model.apply('control', [put('robot', 1), remove('robot', 2)], none);

    await model.reset('control');

    expect(codes(await model.apply('control', [put('robot', 1)], none))).toEqual(['applied']);
    expect(await model.get('serviceaccount', ORG, 'robot')).toEqual(documentOf(put('robot', 1)));
  });

  it('shows a reader during a reset all or nothing', async ({ model }) => {
    await store(
      model,
      Array.from({ length: 300 }, (_, n) => event(n)),
    );
    const seen: number[] = [];
    let running = true;
    const reader = (async () => {
      while (running) {
        seen.push((await search(model)).items.length);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();

    await model.reset('audit');
    await model.refresh();
    running = false;
    await reader;

    expect(seen.every((count) => count === 300 || count === 0)).toBe(true);
    expect((await search(model)).items).toEqual([]);
  });

  it('answers after a reset and a replay exactly as before', async ({ model }) => {
    const before = await answersOf(model, await fill(model));
    await model.reset('audit');
    await model.reset('control');

    expect(await answersOf(model, await fill(model))).toEqual(before);
    expect(before.received).toHaveLength(before.events.length);
    expect(before.events.length).toBeGreaterThan(60);
  });

  it('keeps documents, deletions, progress and generation over a reopen', async (harness) => {
    await harness.model.reset('audit');
    const deepest = await fill(harness.model);
    const before = await answersOf(harness.model, deepest);
    const progress = [await harness.model.progress('audit'), await harness.model.progress('control')];

    const reopened = await harness.reopen();

    expect(await answersOf(reopened, deepest)).toEqual(before);
    expect([await reopened.progress('audit'), await reopened.progress('control')]).toEqual(progress);
    expect(codes(await reopened.apply('control', [put('gone', 1)], none))).toEqual(['stale']);
  });

  it('goes on after a reopen with a cursor made before', async (harness) => {
    await store(
      harness.model,
      Array.from({ length: 20 }, (_, n) => event(n)),
    );
    const first = await search(harness.model, { limit: 8 });

    const reopened = await harness.reopen();

    const rest = await allItems(reopened, { limit: 8, ...(first.cursor && { cursor: first.cursor }) });
    expect([...ids(first.items), ...ids(rest)]).toEqual(Array.from({ length: 20 }, (_, n) => idAt(19 - n)));
  });

  it('finds after a refresh all that was applied before', async ({ model }) => {
    for (let n = 0; n < 30; n += 1) {
      await model.apply('audit', [event(n)], { 0: n + 1 });
      await model.refresh();
      expect((await search(model, { limit: 1 })).items.map(({ id }) => id)).toEqual([idAt(n)]);
    }
  });
}

/** Events with duplicates and late times from two topics, and accounts of which one is deleted; answers a cursor's place. */
async function fill(model: ReadModel): Promise<number> {
  for (let n = 0; n < 60; n += 1) {
    const at = place(n, { partition: n % 3 });
    const late = { eventTime: n % 5 === 0 ? 0 : 1000 + n, contextName: `ctx${n % 4}` };
    await model.apply('audit', [event(n, { place: at, fields: late, hash: 'h' })], { [n % 3]: n + 1 });
    await model.apply(
      'audit',
      [event(n, { place: { ...at, offset: n + 100 }, fields: late, hash: n % 2 ? 'h' : 'i' })],
      none,
    );
  }
  const control = [put('robot', 1), put('gone', 2), event(70, { place: controlPlace(3) }), remove('gone', 4)];
  await model.apply('control', control, { 0: 5 });
  await model.refresh();
  return 25;
}

async function answersOf(model: ReadModel, deepest: number) {
  const list = await pages(model, { limit: 7, order: NEWEST_FIRST });
  return {
    events: list.flatMap(({ items }) => items),
    cursors: list.map(({ cursor }) => cursor),
    filtered: (await search(model, { filters: [{ field: 'contextName', op: '=', value: 'ctx1' }] })).items,
    passed: (await search(model, { offset: deepest, limit: 5 })).items,
    received: await allItems(model, { limit: 7, order: 'received' }),
    accounts: (await search(model, {}, 'serviceaccount')).items,
    count: [...(await model.count('auditevent', ORG))],
    one: await model.get('auditevent', ORG, idAt(5)),
  };
}
