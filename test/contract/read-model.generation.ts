import type { NextGeneration, ReadModel } from '../../src/read-model/read-model.js';
import { settled } from './harness.js';
import { answersOf, fill } from './read-model.answers.js';
import {
  allItems,
  codes,
  controlPlace,
  documentOf,
  event,
  events,
  found,
  generationOf,
  idAt,
  ids,
  LEASE_MS,
  type ModelCases,
  nextOf,
  none,
  ORG,
  place,
  promote,
  put,
  rebuild,
  remove,
  scan,
  search,
  store,
  strays,
  sweep,
  throughJson,
} from './read-model.harness.js';

const LOST = { error: { name: 'GenerationLost' } };

export function generationCases(given: ModelCases): void {
  visibilityCases(given);
  numberCases(given);
  continuityCases(given);
  endCases(given);
}

function visibilityCases({ it }: ModelCases): void {
  it('shows the live generation until the promotion, and then only the new one', async ({ model }) => {
    await model.apply('control', [put('robot', 1), put('gone', 2)], { 0: 3 });
    await store(model, events(0, 4));
    const old = await shown(model);
    const next = await model.begin();
    await next.apply('control', [put('robot', 1)], { 0: 2 });
    await store(next, [event(2), event(3, { fields: { contextName: 'other' } }), event(9)]);
    const meanwhile = await shown(model);
    await promote(next);

    expect(meanwhile).toEqual(old);
    expect(await shown(model)).toEqual({
      found: [2, 3, 9],
      received: [2, 3, 9].map((n) => idAt(n)),
      last: [idAt(9)],
      gets: [undefined, idAt(2)],
      accounts: ['robot'],
      count: [
        ['other', 1],
        ['shop', 2],
      ],
    });
  });

  it('shows a reader one whole generation or the other during a promotion', async ({ model }) => {
    await store(model, events(0, 300));
    const next = await model.begin();
    await store(next, events(100, 300));
    const seen: number[] = [];
    let running = true;
    const reader = (async () => {
      while (running) {
        const [{ items }, count] = [await search(model), await model.count('auditevent', ORG)];
        seen.push(items.length, count.get('shop') ?? 0);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();

    await promote(next);
    const after = (await search(model)).items.length;
    running = false;
    await reader;

    expect(seen.filter((count) => count !== 300 && count !== 200)).toEqual([]);
    expect(after).toBe(200);
  });

  it('writes to one generation only', async ({ model }) => {
    await store(model, [event(0, { hash: 'h' })]);
    const next = await model.begin();

    expect(codes(await next.apply('audit', [event(5, { id: idAt(0), hash: 'other' })], none))).toEqual(['applied']);
    expect(codes(await model.apply('audit', [event(1)], none))).toEqual(['applied']);
    await Promise.all([next.refresh(), model.refresh()]);

    expect(ids(await scan(next))).toEqual([idAt(0)]);
    expect(ids(await scan(model))).toEqual([idAt(0), idAt(1)]);
  });

  it('repairs and sweeps one generation only', async ({ model, retention }) => {
    await store(model, events(0, 4));
    const next = await model.begin();
    await store(next, events(0, 4));
    retention.setLimit(ORG, 'shop', place(1).time);
    const [, second] = await scan(next);

    await next.overwrite(event(2, { source: '{"n":22}' }));
    if (second) await next.remove('auditevent', second);

    expect(await sweep(next)).toBe(1);
    expect((await scan(model)).map(({ source }) => JSON.parse(source).n)).toEqual([0, 1, 2, 3]);
    expect((await scan(next)).map(({ source }) => JSON.parse(source).n)).toEqual([22, 3]);
    expect(ids(await strays(next, 'auditevent', { audit: { 0: 3 } }))).toEqual([idAt(3)]);
  });

  it('keeps expired documents out of the next generation', async ({ model, retention }) => {
    await store(model, events(0, 6));
    retention.setLimit(ORG, 'shop', place(4).time);
    await rebuild(model, (next) => store(next, events(0, 6)));

    expect(await found(model)).toEqual([4, 5]);
    expect(ids(await scan(model))).toEqual([idAt(4), idAt(5)]);
    expect(await model.count('auditevent', ORG)).toEqual(new Map([['shop', 2]]));
  });
}

function numberCases({ it }: ModelCases): void {
  it('is one number for all topics, which grows with every promotion', async ({ model }) => {
    const seen: number[] = [await generationOf(model)];
    for (let n = 0; n < 3; n += 1) {
      const next = await model.begin();
      const [announced, live] = [await generationOf(next), await generationOf(model)];
      await promote(next);
      expect(live).toBe(seen.at(-1));
      expect(await generationOf(model)).toBe(announced);
      seen.push(announced);
    }

    expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b));
  });

  it('starts at progress 0, and takes its own progress along', async ({ model }) => {
    await model.apply('audit', [], { 0: 7, 1: 3 });
    await model.apply('control', [], { 0: 5 });
    const next = await model.begin();
    const first = [nextOf(await next.progress('audit'), 0, 1), nextOf(await next.progress('control'), 0)];
    await next.apply('audit', [event(1)], { 0: 2 });
    const meanwhile = nextOf(await model.progress('audit'), 0, 1);
    await promote(next);

    expect(first).toEqual([[0, 0], [0]]);
    expect(meanwhile).toEqual([7, 3]);
    expect(nextOf(await model.progress('audit'), 0, 1)).toEqual([2, 0]);
    expect(nextOf(await model.progress('control'), 0)).toEqual([0]);
  });

  it('keeps number, progress and documents of a promoted generation over a reopen', async (harness) => {
    await store(harness.model, events(0, 3));
    await rebuild(harness.model, (next) => next.apply('audit', [event(8)], { 0: 9 }));
    const progress = await harness.model.progress('audit');

    const reopened = await harness.reopen();

    expect(await reopened.progress('audit')).toEqual(progress);
    expect(await found(reopened)).toEqual([8]);
    await rebuild(reopened, (next) => store(next, [event(9)]));
    expect(await generationOf(reopened)).toBeGreaterThan(progress.generation);
    expect(await found(reopened)).toEqual([9]);
  });
}

function continuityCases({ it }: ModelCases): void {
  it('accepts writes after a promotion', async ({ model }) => {
    await store(model, events(0, 3));
    await rebuild(model, (next) => next.apply('audit', events(0, 2), { 0: 2 }));

    expect(codes(await model.apply('audit', [event(1), event(2)], { 0: 3 }))).toEqual(['applied', 'applied']);
    await model.refresh();

    expect(await found(model)).toEqual([0, 1, 2]);
    expect(nextOf(await model.progress('audit'), 0)).toEqual([3]);
  });

  it('returns the same after a rebuild', async ({ model }) => {
    const before = await answersOf(model, await fill(model));
    await rebuild(model, fill);

    expect(await answersOf(model, 25)).toEqual(before);
    expect(before.received).toHaveLength(before.events.length);
    expect(before.events.length).toBeGreaterThan(60);
  });

  it('forgets deletions: an older put is new again', async ({ model }) => {
    await model.apply('control', [put('robot', 1), remove('robot', 2)], none);
    await rebuild(model, (next) => next.refresh());

    expect(codes(await model.apply('control', [put('robot', 1)], none))).toEqual(['applied']);
    expect(await model.get('serviceaccount', ORG, 'robot')).toEqual(documentOf(put('robot', 1)));
  });

  it('continues a list by its cursor over a promotion', async ({ model }) => {
    await store(model, events(0, 20));
    const first = await search(model, { limit: 8 });
    await rebuild(model, (next) => store(next, events(0, 21)));

    const rest = await allItems(model, { limit: 5, ...(first.cursor && { cursor: throughJson(first.cursor) }) });

    expect(ids([...first.items, ...rest])).toEqual(ids(events(0, 20)).toReversed());
  });

  it('continues in the order received over a promotion, also behind the end', async ({ model }) => {
    const inThree = (from: number, to: number) =>
      events(from, to).map((write) => {
        const n = write.place.offset;
        return { ...write, place: n % 4 === 3 ? controlPlace(n) : place(n, { partition: n % 4 }) };
      });
    await store(model, inThree(0, 20));
    const first = await search(model, { order: 'received', limit: 11 });
    const end = await model.last('auditevent', { org: ORG, filters: [], limit: 1 });
    await rebuild(model, (next) => store(next, inThree(0, 23)));
    await store(model, inThree(23, 24));
    const from = async (cursor: typeof first.cursor) =>
      ids(await allItems(model, { order: 'received', limit: 3, ...(cursor && { cursor: throughJson(cursor) }) }));

    expect([...ids(first.items), ...(await from(first.cursor))]).toEqual(ids(inThree(0, 24)));
    expect(await from(end.cursor)).toEqual(ids(inThree(20, 24)));
  });

  it('does not show again, behind a cursor, what a generation got late', async ({ model }) => {
    await store(model, events(0, 6));
    const { cursor } = await search(model, { order: 'received' });
    await rebuild(model, (next) => store(next, events(0, 3)));
    const received = { order: 'received', ...(cursor && { cursor: throughJson(cursor) }) } as const;
    const early = await search(model, received);
    await store(model, events(3, 7));

    const late = await search(model, { ...received, ...(early.cursor && { cursor: throughJson(early.cursor) }) });

    expect([ids(early.items), ids(late.items)]).toEqual([[], [idAt(6)]]);
  });
}

function endCases({ it }: ModelCases): void {
  it('leaves no trace when it is discarded, and keeps the writes to the live one', async ({ model }) => {
    await store(model, events(0, 3));
    const next = await model.begin();
    await next.apply('audit', events(5, 9), { 0: 9 });
    await model.apply('audit', [event(3)], { 0: 4 });
    await next.discard();
    await model.refresh();

    expect(await found(model)).toEqual([0, 1, 2, 3]);
    expect(nextOf(await model.progress('audit'), 0)).toEqual([4]);
    const later = await model.begin();
    expect(nextOf(await later.progress('audit'), 0)).toEqual([0]);
    expect(await scan(later)).toEqual([]);
  });

  it('is removed when another one begins', async ({ model }) => {
    await store(model, events(0, 3));
    const abandoned = await model.begin();
    await abandoned.apply('audit', events(5, 9), { 0: 9 });
    const next = await model.begin();

    expect(await settled(abandoned.apply('audit', [event(9)], { 0: 10 }))).toMatchObject(LOST);
    expect(nextOf(await next.progress('audit'), 0)).toEqual([0]);
    await store(next, [event(4)]);
    await promote(next);
    expect(await found(model)).toEqual([4]);
  });

  it('is gone after a reopen if it was not promoted', async (harness) => {
    await store(harness.model, events(0, 3));
    const next = await harness.model.begin();
    await store(next, events(5, 9));

    const reopened = await harness.reopen();

    expect(await found(reopened)).toEqual([0, 1, 2]);
    expect(await scan(await reopened.begin())).toEqual([]);
  });

  for (const [what, end] of [
    ['discarded', (next: NextGeneration) => next.discard()],
    ['promoted', (next: NextGeneration) => promote(next)],
  ] as const) {
    it(`takes nothing any more once it is ${what}`, async ({ model }) => {
      await store(model, events(0, 3));
      const next = await model.begin();
      await store(next, events(0, 3));
      await end(next);

      expect(await settled(next.apply('audit', [event(7)], { 0: 8 }))).toMatchObject(LOST);
      expect(await settled(next.seal(LEASE_MS))).toMatchObject(LOST);
      expect(await settled(next.promote())).toHaveProperty('error');
      await settled(next.discard());
      await model.refresh();
      expect(await found(model)).toEqual([0, 1, 2]);
      expect(nextOf(await model.progress('audit'), 0)).toEqual([0]);
    });
  }
}

/** What every read shows. */
async function shown(model: ReadModel) {
  const gets = [await model.get('auditevent', ORG, idAt(0)), await model.get('auditevent', ORG, idAt(2))];
  return {
    found: await found(model),
    received: ids((await search(model, { order: 'received' })).items),
    last: ids((await model.last('auditevent', { org: ORG, filters: [], limit: 1 })).items),
    gets: gets.map((document) => document?.id),
    accounts: ids((await search(model, {}, 'serviceaccount')).items),
    count: [...(await model.count('auditevent', ORG))],
  };
}
