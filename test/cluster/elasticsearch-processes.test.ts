import type { ReadModel } from '../../src/read-model/read-model.js';
import { ask, withHandles } from '../contract/elasticsearch.harness.js';
import { settled, sleep } from '../contract/harness.js';
import {
  codes,
  event,
  found,
  idAt,
  ids,
  LEASE_MS,
  nextOf,
  ORG,
  place,
  promote,
  put,
  START,
  search,
  store,
} from '../contract/read-model.harness.js';
import { clusterSuite } from './support.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const LOST = { error: { name: 'GenerationLost' } };

clusterSuite('several processes on one read model in Elasticsearch', ({ elasticsearchUrl }) => {
  const it = withHandles(elasticsearchUrl);

  it('tells a process that its generation was replaced, and takes its writes once it has asked', async (handles) => {
    const [mine, theirs] = [await handles.open(), await handles.open()];
    await mine.apply('audit', [event(1)], { 0: 2 });
    const before = await mine.progress('audit');
    const next = await theirs.begin();
    await next.apply('audit', [event(1)], { 0: 2 });
    await next.refresh();
    await promote(next);

    expect(await found(mine)).toEqual([1]);
    expect(await settled(mine.apply('audit', [event(2)], { 0: 3 }))).toMatchObject(LOST);
    expect(await settled(mine.apply('audit', [], { 0: 3 }))).toMatchObject(LOST);
    const after = await mine.progress('audit');
    expect(after.generation).toBeGreaterThan(before.generation);
    expect(nextOf(after, 0)).toEqual([2]);
    expect(codes(await mine.apply('audit', [event(2)], { 0: 3 }))).toEqual(['applied']);
    await mine.refresh();
    expect(await found(theirs)).toEqual([1, 2]);
  });

  it('adds no month to what is live when its generation is not live any more', async (handles) => {
    const [mine, theirs] = [await handles.open(), await handles.open()];
    await store(mine, [event(1)]);
    await promote(await theirs.begin());
    const other = event(2, { id: idAt(40 * DAY_MS), place: place(2, { time: START + 40 * DAY_MS }) });

    expect(await settled(mine.apply('audit', [other], { 0: 3 }))).toMatchObject(LOST);
    const { generation } = await theirs.progress('audit');
    expect((await handles.indices()).filter((index) => !index.includes(`-${generation}`))).toEqual([]);
    expect(await found(theirs)).toEqual([]);
  });

  it('adds no month to a generation that is sealed', async (handles) => {
    const [mine, theirs] = [await handles.open(), await handles.open()];
    await store(mine, [event(1)]);
    const next = await theirs.begin();
    await next.seal(LEASE_MS);
    const other = event(2, { id: idAt(40 * DAY_MS), place: place(2, { time: START + 40 * DAY_MS }) });

    expect(await settled(mine.apply('audit', [other], { 0: 3 }))).toMatchObject({
      error: { name: 'GenerationSealed' },
    });
    const answer = await ask<object>(handles.url, 'GET', `/${handles.prefix}audit-events-*/_alias`);
    expect(Object.keys(answer)).toHaveLength(1);
  });

  it('ends at the seal what every process writes, though many write at that moment', async (handles) => {
    const writers = await Promise.all([0, 1, 2].map(() => handles.open()));
    let isWriting = true;
    const acknowledged = [0, 0, 0];
    const writing = writers.map(async (model, partition) => {
      for (let n = 0; isWriting; n += 1) {
        const outcome = await settled(model.apply('audit', [], { [partition]: n + 1 }));
        if ('error' in outcome) {
          expect(outcome).toMatchObject({ error: { name: 'GenerationSealed' } });
          n -= 1;
        } else acknowledged[partition] = n + 1;
      }
    });
    const next = await (await handles.open()).begin();
    await sleep(300);
    const sealed = await next.seal(LEASE_MS);
    const then = [...acknowledged];
    await sleep(300);
    isWriting = false;
    await Promise.all(writing);

    expect(then.every((count) => count > 0)).toBe(true);
    const end = [0, 1, 2].map((partition) => sealed.audit?.[partition]);
    expect(acknowledged).toEqual(end);
    for (const model of writers) expect(nextOf(await model.progress('audit'), 0, 1, 2)).toEqual(end);
  });

  it('notices that everything is gone, makes nothing up, and begins anew', async (handles) => {
    const model = await handles.open();
    await store(model, [event(1)]);
    await model.apply('control', [put('robot', 1)], { 0: 2 });
    await model.apply('audit', [], { 0: 2 });
    const { generation } = await model.progress('audit');
    await handles.wipe();
    const answers = await Promise.all([
      settled(search(model)),
      settled(search(model, {}, 'serviceaccount')),
      settled(search(model, { order: 'received' })),
      settled(model.get('auditevent', ORG, idAt(1))),
      settled(model.count('auditevent', ORG)),
    ]);
    const writes = [
      await settled(model.apply('audit', [event(2)], { 0: 3 })),
      await settled(model.apply('audit', [], { 0: 3 })),
      await settled(model.apply('control', [put('robot', 2)], { 0: 3 })),
      await settled(model.refresh()),
    ];

    for (const answer of answers) expect(answer).toMatchObject({ error: { code: 'read_model_unavailable' } });
    for (const write of writes) expect(write).toMatchObject(LOST);
    expect(await handles.indices()).toEqual([]);
    const after = await model.progress('audit');
    expect(after.generation).toBeGreaterThan(generation);
    expect(after.next).toEqual({});
    await store(model, [event(1), event(2)]);
    expect(await found(model)).toEqual([1, 2]);
  });

  it('notices that it was set back', async (handles) => {
    const model = await handles.open();
    await model.apply('audit', [event(1)], { 0: 5 });
    const { generation } = await model.progress('audit');
    await ask(handles.url, 'PUT', `/${handles.prefix}progress-${generation}/_doc/progress`, {
      value: { 'audit/0': 2 },
    });

    expect(await settled(model.apply('audit', [event(6)], { 0: 7 }))).toMatchObject(LOST);
    expect(nextOf(await model.progress('audit'), 0)).toEqual([2]);
    expect(codes(await model.apply('audit', [event(2)], { 0: 3 }))).toEqual(['applied']);
    expect(nextOf(await model.progress('audit'), 0)).toEqual([3]);
  });

  it('lets two processes move the progress of their partitions at the same time', async (handles) => {
    const models: ReadModel[] = await Promise.all([0, 1, 2, 3].map(() => handles.open()));
    await Promise.all(
      models.map(async (model, partition) => {
        for (let n = 0; n < 40; n += 1) await model.apply('audit', [], { [partition]: n + 1, [partition + 4]: n + 1 });
      }),
    );

    const [first] = models;
    expect(first && nextOf(await first.progress('audit'), 0, 1, 2, 3, 4, 5, 6, 7)).toEqual(Array(8).fill(40));
  });

  it('makes searchable what another process applied and left', async (handles) => {
    const [gone, heir] = [await handles.open(), await handles.open()];
    const late = event(2, { id: idAt(40 * DAY_MS), place: place(2, { time: START + 40 * DAY_MS }) });
    await gone.apply('audit', [event(1), late], { 0: 3 });
    await gone.apply('control', [put('robot', 1)], { 0: 2 });
    await gone.close();

    expect(nextOf(await heir.progress('audit'), 0)).toEqual([3]);
    await heir.refresh();

    expect(ids((await search(heir)).items).sort()).toEqual([event(1).id, late.id].sort());
    expect(ids((await search(heir, { order: 'received' })).items)).toEqual([event(1).id, late.id]);
    expect(ids((await search(heir, {}, 'serviceaccount')).items)).toEqual(['robot']);
  });
});
