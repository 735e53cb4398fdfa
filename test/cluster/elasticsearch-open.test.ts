import { type NextGeneration } from '../../src/read-model/read-model.js';
import { KEEP_ALL } from '../../src/read-model/retention.js';
import { ask, Gate, type Handles, withHandles } from '../contract/elasticsearch.harness.js';
import { settled } from '../contract/harness.js';
import {
  codes,
  event,
  found,
  idAt,
  LEASE_MS,
  nextOf,
  ORG,
  promote,
  search,
  store,
} from '../contract/read-model.harness.js';
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
    await handles.open({ logId: 'first-log' });

    const refused = await settled(handles.open({ logId: 'second-log' }));

    expect(refused).toMatchObject({ error: { name: 'StoreUnusable' } });
    const message = String((refused as { error: Error }).error.message);
    for (const part of [handles.prefix, 'first-log', 'second-log', 'svc rebuild']) expect(message).toContain(part);
  });

  it('refuses another layout', async (handles) => {
    await handles.open();
    await otherLayout(handles);

    await expect(handles.open()).rejects.toMatchObject({
      name: 'StoreUnusable',
      message: expect.stringContaining('layout 0.9'),
    });
  });

  it('fills, where it is opened for that, a new generation beside one that it refuses', async (handles) => {
    const old = await handles.open({ logId: 'first-log' });
    await store(old, [event(1)]);
    await old.apply('audit', [], { 0: 7 });
    const model = await handles.open({ logId: 'second-log', forRebuild: true });
    const refusals = await Promise.all([
      settled(search(model)),
      settled(model.get('auditevent', ORG, idAt(1))),
      settled(model.apply('audit', [event(2)], { 0: 3 })),
      settled(model.progress('audit')),
    ]);
    const next = await model.begin();
    await store(next, [event(2)]);
    const sealed = await next.seal(LEASE_MS);
    await next.promote();

    for (const refusal of refusals) expect(refusal).toMatchObject({ error: { name: 'StoreUnusable' } });
    expect(sealed).toEqual({});
    expect(await found(model)).toEqual([2]);
    expect(codes(await model.apply('audit', [event(3)], { 0: 4 }))).toEqual(['applied']);
    await expect(handles.open({ logId: 'first-log' })).rejects.toMatchObject({ name: 'StoreUnusable' });
    await handles.open({ logId: 'second-log' });
  });

  it('says, of an older layout of the same log, how far that got', async (handles) => {
    const old = await handles.open();
    await old.apply('audit', [event(1)], { 0: 2 });
    await otherLayout(handles);
    const model = await handles.open({ forRebuild: true });
    const next: NextGeneration = await model.begin();

    expect(await next.seal(LEASE_MS)).toEqual({ audit: { 0: 2 } });
    await expect(old.apply('audit', [event(2)], { 0: 3 })).rejects.toMatchObject({ name: 'GenerationSealed' });
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

async function otherLayout({ url, prefix }: Handles): Promise<void> {
  const _meta = { logId: 'a-log', version: '0.9' };
  await ask(url, 'PUT', `/${prefix}progress/_mapping`, { _meta });
}
