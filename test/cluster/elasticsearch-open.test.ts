import type { Topic } from '../../src/event-log/event-log.js';
import { KEEP_ALL } from '../../src/read-model/retention.js';
import { Gate, withHandles } from '../contract/elasticsearch.harness.js';
import { settled } from '../contract/harness.js';
import { codes, event, found, idAt, nextOf, ORG, promote, search, store } from '../contract/read-model.harness.js';
import { PATIENCE } from '../support/patience.js';
import { clusterSuite } from './support.js';

clusterSuite('opening a read model in Elasticsearch', ({ elasticsearchUrl }) => {
  const it = withHandles(elasticsearchUrl);

  it('makes one generation, whoever of several comes first', async (handles) => {
    const models = await Promise.all([1, 2, 3, 4, 5].map(() => handles.open()));

    const generations = await Promise.all(models.map((model) => model.progress('audit')));
    expect(new Set(generations.map(({ generation }) => generation)).size).toBe(1);
    await Promise.all(models.map((model, n) => model.apply('audit', [event(n)], { [n]: n + 1 })));
    await Promise.all(models.map((model) => model.refresh()));
    for (const model of models) expect(await found(model)).toEqual([0, 1, 2, 3, 4]);
    const kept = (await handles.indices()).filter((index) => !index.includes(`-${generations[0]?.generation}`));
    expect(kept).toEqual([]);
  });

  it('finds what another process has made', async (handles) => {
    await store(await handles.open(), [event(1)]);
    const second = await handles.open();

    expect(await found(second)).toEqual([1]);
    expect(codes(await second.apply('audit', [event(1), event(2)], { 0: 3 }))).toEqual(['applied', 'applied']);
  });

  it('refuses what was filled from another log, and says what to do', async (handles) => {
    await store(await handles.open({ logId: 'first-log' }), [event(1)]);
    const model = await handles.open({ logId: 'second-log' });

    for (const part of [handles.prefix, 'first-log', 'second-log', 'svc rebuild']) {
      expect(model.unusable).toContain(part);
    }
    const refusals = await Promise.all([
      settled(search(model)),
      settled(model.get('auditevent', ORG, idAt(1))),
      settled(model.apply('audit', [event(2)], { 0: 3 })),
      settled(model.progress('audit')),
    ]);
    const refused = { error: { code: 'read_model_unavailable', message: model.unusable } };
    for (const refusal of refusals) expect(refusal).toMatchObject(refused);
  });

  it('puts an empty one in its place, when it is told to, for every process', async (handles) => {
    await store(await handles.open({ logId: 'first-log' }), [event(1)]);
    const options = { logId: 'second-log', head: async (topic: Topic) => (topic === 'audit' ? { 0: 3 } : {}) };
    const [model, other] = [await handles.open(options), await handles.open(options)];

    expect(await model.replace()).toBe(3);
    await other.retry();
    for (const one of [model, other]) {
      expect(one.unusable).toBeUndefined();
      expect(await settled(search(one))).toMatchObject({ error: { code: 'read_model_unavailable' } });
    }
    expect((await other.progress('audit')).next).toEqual({});
    await other.apply('audit', [event(2)], { 0: 3 });
    await other.refresh();
    for (const one of [model, other]) expect(await found(one)).toEqual([2]);
    expect(await model.replace()).toBe(3);
    expect(await found(model)).toEqual([2]);
    expect((await handles.open({ logId: 'first-log' })).unusable).toContain('second-log');
  });

  it('removes, with the next that is begun, what nobody finished', async (handles) => {
    const model = await handles.open();
    const first = await model.begin();
    await store(first, [event(1)]);
    const second = await (await handles.open()).begin();
    await store(second, [event(2)]);
    const [{ generation }, live] = [await second.progress('audit'), await model.progress('audit')];

    await expect(first.apply('audit', [event(3)], { 0: 4 })).rejects.toMatchObject({ name: 'GenerationLost' });
    await expect(promote(first)).rejects.toMatchObject({ name: 'GenerationLost' });
    const others = (await handles.indices()).filter(
      (index) => !index.includes(`-${generation}`) && !index.includes(`-${live.generation}`),
    );
    expect(others).toEqual([]);
    await promote(second);
    expect(await found(model)).toEqual([2]);
  });

  it('leaves the indices of others alone whose names begin alike', async (handles) => {
    const other = await handles.open({ indexPrefix: `${handles.prefix}x-` });
    await store(other, [event(1)]);
    const model = await handles.open();
    await promote(await model.begin());
    await (await model.begin()).discard();

    expect(await found(other)).toEqual([1]);
    expect(nextOf(await other.progress('audit'), 0)).toEqual([0]);
  });

  it('says soon when Elasticsearch is not there', async (handles) => {
    const started = performance.now();

    await expect(handles.open({ nodes: ['http://127.0.0.1:9'] })).rejects.toMatchObject({
      name: 'ControlError',
      code: 'read_model_unavailable',
      message: expect.stringContaining('cannot be reached'),
    });
    expect(performance.now() - started).toBeLessThan(5_000 * PATIENCE);
  });

  it('says that it cannot be read while Elasticsearch is away, and goes on when it is back', async (handles) => {
    const gate = await Gate.open(handles.url);
    const model = await handles.open({ nodes: [gate.url], retention: KEEP_ALL });
    await store(model, [event(1)]);
    gate.shut();
    const away = await Promise.all([
      settled(search(model)),
      settled(search(model, { order: 'received' })),
      settled(model.get('auditevent', ORG, idAt(1))),
      settled(model.count('auditevent', ORG)),
      settled(model.last('auditevent', { org: ORG, filters: [], limit: 1 })),
    ]);
    gate.unshut();

    for (const answer of away) expect(answer).toMatchObject({ error: { code: 'read_model_unavailable' } });
    expect(await found(model)).toEqual([1]);
    expect(codes(await model.apply('audit', [event(1)], { 0: 2 }))).toEqual(['applied']);
    await gate.close();
  });
});
