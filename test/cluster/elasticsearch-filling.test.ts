import { setTimeout as delay } from 'node:timers/promises';
import type { Offsets, Topic } from '../../src/event-log/event-log.js';
import type { ReadModel } from '../../src/read-model/read-model.js';
import { type Handles, withHandles } from '../contract/elasticsearch.harness.js';
import { settled } from '../contract/harness.js';
import { event, events, found, idAt, ORG, promote, put, search } from '../contract/read-model.harness.js';
import { clusterSuite } from './support.js';

const REFUSED = { error: { code: 'read_model_unavailable' } };

clusterSuite('a read model that is made while the log has records', ({ elasticsearchUrl }) => {
  const it = withHandles(elasticsearchUrl);

  /** One that knows how far the log is. */
  const openAt = (handles: Handles, ends: Partial<Record<Topic, Offsets>>) =>
    handles.open({ head: async (topic) => ends[topic] ?? {} });

  const reads = (model: ReadModel): Promise<unknown>[] => [
    model.get('auditevent', ORG, idAt(1)),
    model.get('auditevent', ORG, 'never'),
    model.get('serviceaccount', ORG, 'robot'),
    search(model),
    search(model, { order: 'received' }),
    search(model, {}, 'serviceaccount'),
    model.last('auditevent', { org: ORG, filters: [], limit: 1 }),
    model.count('auditevent', ORG),
  ];

  async function expectRefused(...models: ReadModel[]): Promise<void> {
    for (const model of models) {
      for (const read of reads(model)) expect(await settled(read)).toMatchObject(REFUSED);
    }
  }

  it('is not read before searches find all of those, whoever made them', async (handles) => {
    const ends = { audit: { 0: 2, 1: 5, 2: 0 }, control: { 0: 1 } };
    const [one, other] = [await openAt(handles, ends), await openAt(handles, ends)];
    const reader = await openAt(handles, {});
    await expectRefused(one, reader);

    await one.apply('audit', events(0, 2), { 0: 2 });
    await one.refresh();
    await other.apply('audit', [], { 1: 5 });
    await other.refresh();
    await one.apply('control', [put('robot', 0)], { 0: 1 });
    await expectRefused(one, other, reader);
    await one.refresh();

    for (const model of [one, other, reader, await handles.open()]) {
      expect(await found(model)).toEqual([0, 1]);
      expect(await model.get('auditevent', ORG, 'never')).toBeUndefined();
      expect(await Promise.all(reads(model))).toHaveLength(8);
    }
  });

  it('goes on being filled by who comes after one that ended in between', async (handles) => {
    const ends = { audit: { 0: 2, 1: 2 } };
    const one = await openAt(handles, ends);
    await one.apply('audit', events(0, 2), { 0: 2 });
    await one.apply('audit', [], { 1: 2 });

    const next = await openAt(handles, {});
    await expectRefused(next);
    await next.progress('audit');
    await next.refresh();
    expect(await found(next)).toEqual([0, 1]);
  });

  it('is read at once where the log has nothing yet', async (handles) => {
    const model = await openAt(handles, { audit: { 0: 0, 1: 0 }, control: {} });
    expect(await found(model)).toEqual([]);
    expect(await model.get('auditevent', ORG, idAt(1))).toBeUndefined();
  });

  it('is read once another that has everything takes its place', async (handles) => {
    const [model, reader] = [await openAt(handles, { audit: { 0: 9 } }), await handles.open()];
    const next = await model.begin();
    await next.apply('audit', events(0, 9), { 0: 9 });
    await next.refresh();
    await expectRefused(reader);
    await promote(next);
    expect(await found(reader)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('denies nothing that it had, while it is lost and filled again, three times', async (handles) => {
    const all = [...events(0, 20), event(20, { id: 'keyed', hash: 'h' })];
    const writer = await openAt(handles, { audit: { 0: 21 } });
    const fill = async () => {
      await writer.progress('audit');
      for (const [n, one] of all.entries()) await writer.apply('audit', [one], { 0: n + 1 });
      await writer.refresh();
    };
    await fill();
    const readers = await Promise.all([0, 1, 2, 3].map(() => handles.open()));
    let isReading = true;
    let [refused, answered] = [0, 0];
    const wrong: unknown[] = [];
    const judge = async (read: Promise<unknown>, isRight: (answer: never) => boolean) => {
      const outcome = await settled(read);
      if ('error' in outcome) refused += 1;
      else answered += 1;
      const isWrong = 'error' in outcome ? !isUnavailable(outcome.error) : !isRight(outcome.value as never);
      if (isWrong) wrong.push(outcome);
    };
    const reading = readers.map(async (model) => {
      while (isReading) {
        await judge(model.get('auditevent', ORG, idAt(7)), (found: unknown) => found !== undefined);
        await judge(model.get('auditevent', ORG, 'keyed'), (found: unknown) => found !== undefined);
        await judge(found(model), (numbers: unknown[]) => numbers.length === 21);
        await judge(model.count('auditevent', ORG), (counts: Map<string, number>) => counts.get('shop') === 21);
        await judge(search(model, { order: 'received' }), ({ items }: { items: unknown[] }) => items.length === 21);
      }
    });
    for (let round = 1; round <= 3; round += 1) {
      await delay(100);
      await handles.wipe();
      await fill();
    }
    await delay(100);
    isReading = false;
    await Promise.all(reading);

    expect(wrong).toEqual([]);
    expect([refused > 0, answered > 0]).toEqual([true, true]);
  });
});

function isUnavailable(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'read_model_unavailable';
}
