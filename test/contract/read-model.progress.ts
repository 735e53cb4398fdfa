import { GenerationLost } from '../../src/read-model/read-model.js';
import { answersOf, fill } from './read-model.answers.js';
import {
  allItems,
  codes,
  controlPlace,
  event,
  idAt,
  ids,
  type ModelCases,
  nextOf,
  none,
  ORG,
  put,
  rebuild,
  search,
  store,
} from './read-model.harness.js';

export function progressCases({ it }: ModelCases): void {
  it('is at 0 before anything is applied', async ({ model }) => {
    expect(nextOf(await model.progress('audit'), 0, 1)).toEqual([0, 0]);
    expect(nextOf(await model.progress('control'), 0)).toEqual([0]);
  });

  it('accepts progress without writes, and writes without progress', async ({ model }) => {
    expect(await model.apply('audit', [], { 1: 7 })).toEqual([]);
    await model.apply('audit', [event(3)], none);

    expect(nextOf(await model.progress('audit'), 0, 1)).toEqual([0, 7]);
  });

  it('never goes backward, but applies the writes that come with an older progress', async ({ model }) => {
    await model.apply('audit', [event(9)], { 0: 10 });

    expect(codes(await model.apply('audit', [event(4)], { 0: 5 }))).toEqual(['applied']);

    expect(nextOf(await model.progress('audit'), 0)).toEqual([10]);
    expect(await model.get('auditevent', ORG, idAt(4))).toBeDefined();
  });

  it('advances only the named partitions', async ({ model }) => {
    await model.apply('audit', [], { 0: 3, 1: 5, 2: 7 });
    await model.apply('audit', [event(8)], { 1: 9 });

    expect(nextOf(await model.progress('audit'), 0, 1, 2)).toEqual([3, 9, 7]);
  });

  it('advances some partitions and leaves others in one call', async ({ model }) => {
    await model.apply('audit', [], { 0: 10, 1: 10 });
    await model.apply('audit', [], { 0: 5, 1: 15 });

    expect(nextOf(await model.progress('audit'), 0, 1)).toEqual([10, 15]);
  });

  it('advances from the offset of the caller, or from a later one', async ({ model }) => {
    await model.apply('audit', [], { 0: 3, 1: 8 });

    await model.apply('audit', [event(4)], { 0: 5 }, { 0: 3 });
    await model.apply('audit', [], { 0: 6, 1: 9 }, { 0: 4, 1: 2 });

    expect(nextOf(await model.progress('audit'), 0, 1)).toEqual([6, 9]);
  });

  it('advances nothing if it is behind the offset of the caller', async ({ model }) => {
    await model.apply('audit', [], { 0: 3 });
    await model.apply('control', [], { 0: 50, 1: 50 });

    for (const from of [{ 0: 4 }, { 1: 1 }, { 0: 3, 1: 1 }]) {
      const refused = model.apply('audit', [event(4)], { 0: 5, 1: 5 }, from);
      await expect(refused).rejects.toThrow(GenerationLost);
    }

    expect(nextOf(await model.progress('audit'), 0, 1)).toEqual([3, 0]);
    await model.apply('audit', [event(4)], { 0: 5 }, { 0: 3 });
    expect(nextOf(await model.progress('audit'), 0)).toEqual([5]);
  });

  it('refuses only the caller whose offset is ahead, of several at the same time', async ({ model }) => {
    const all = await Promise.allSettled([
      model.apply('audit', [], { 0: 5 }, { 0: 4 }),
      model.apply('audit', [], { 1: 5 }, { 1: 0 }),
      model.apply('control', [], { 0: 5 }),
    ]);

    expect(all.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(nextOf(await model.progress('audit'), 0, 1)).toEqual([0, 5]);
  });

  it('returns from a refresh the generation of the progress', async ({ model }) => {
    expect(await model.refresh()).toBe((await model.progress('audit')).generation);
    await rebuild(model, (next) => next.refresh());
    expect(await model.refresh()).toBe((await model.progress('audit')).generation);
  });

  it('keeps the progress of each topic', async ({ model }) => {
    await model.apply('audit', [event(1)], { 0: 2 });
    await model.apply('control', [put('robot', 4)], { 0: 5 });

    expect(nextOf(await model.progress('audit'), 0)).toEqual([2]);
    expect(nextOf(await model.progress('control'), 0)).toEqual([5]);
  });

  it('advances the progress of the applied topic, not that of the positions', async ({ model }) => {
    await model.apply('control', [event(7, { place: controlPlace(7) })], { 0: 8 });

    expect(nextOf(await model.progress('audit'), 0)).toEqual([0]);
    expect(nextOf(await model.progress('control'), 0)).toEqual([8]);
  });

  it('keeps documents, deletions, progress and generation over a reopen', async (harness) => {
    await rebuild(harness.model, (next) => next.refresh());
    const deepest = await fill(harness.model);
    const before = await answersOf(harness.model, deepest);
    const progress = [await harness.model.progress('audit'), await harness.model.progress('control')];

    const reopened = await harness.reopen();

    expect(await answersOf(reopened, deepest)).toEqual(before);
    expect([await reopened.progress('audit'), await reopened.progress('control')]).toEqual(progress);
    expect(codes(await reopened.apply('control', [put('gone', 1)], none))).toEqual(['stale']);
  });

  it('continues after a reopen with an earlier cursor', async (harness) => {
    await store(
      harness.model,
      Array.from({ length: 20 }, (_, n) => event(n)),
    );
    const first = await search(harness.model, { limit: 8 });

    const reopened = await harness.reopen();

    const rest = await allItems(reopened, { limit: 8, ...(first.cursor && { cursor: first.cursor }) });
    expect([...ids(first.items), ...ids(rest)]).toEqual(Array.from({ length: 20 }, (_, n) => idAt(19 - n)));
  });

  it('finds everything applied before a refresh', async ({ model }) => {
    for (let n = 0; n < 30; n += 1) {
      await model.apply('audit', [event(n)], { 0: n + 1 });
      await model.refresh();
      expect((await search(model, { limit: 1 })).items.map(({ id }) => id)).toEqual([idAt(n)]);
    }
  });
}
