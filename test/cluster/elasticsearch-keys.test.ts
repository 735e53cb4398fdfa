import { keyedId } from '../../src/platform/ids.js';
import type { ReadModel } from '../../src/read-model/read-model.js';
import { ask, type Handles, withHandles } from '../contract/elasticsearch.harness.js';
import { codes, event, ORG, place, START, store, sweep } from '../contract/read-model.harness.js';
import { clusterSuite } from './support.js';

const MANY = 3_000;
/** The log took the events of the first half before this instant. */
const LIMIT = START + MANY / 2;

const keyed = (n: number, at = n) =>
  event(n, { id: keyedId('event', ORG, 'shop', `${n}`), hash: 'h', place: place(at, { time: START + at }) });

clusterSuite('the index of keys', ({ elasticsearchUrl }) => {
  const it = withHandles(elasticsearchUrl);
  const of = async <Answer>({ url, prefix }: Handles, model: ReadModel, path: string) => {
    const { generation } = await model.progress('audit');
    return ask<Answer>(url, 'GET', `/${prefix}audit-keys-${generation}/${path}`);
  };

  it('frees the keys of expired events with the events, and keeps the others', async (handles) => {
    const model = await handles.open();
    const writes = Array.from({ length: MANY }, (_, n) => keyed(n));
    for (let at = 0; at < MANY; at += 500) await store(model, writes.slice(at, at + 500));
    handles.retention.setLimit(ORG, 'shop', LIMIT);
    expect(await sweep(model)).toBe(MANY / 2);

    // Without a refresh: as `_stats` and `_cat` show it to operators.
    // One is the mark of the index.
    expect(await of<{ count: number }>(handles, model, '_count')).toMatchObject({ count: MANY / 2 + 1 });
    const again = [keyed(0, MANY), keyed(MANY / 2, MANY + 1), keyed(MANY - 1, MANY + 2)];
    expect(codes(await model.apply('audit', again, { 0: MANY + 3 }))).toEqual(['applied', 'duplicate', 'duplicate']);
  });

  it('has four times the shards of a month', async (handles) => {
    const model = await handles.open({ shards: 2 });
    type Settings = Record<string, { settings: { index: { number_of_shards: string } } }>;
    const [{ settings } = { settings: { index: { number_of_shards: '' } } }] = Object.values(
      await of<Settings>(handles, model, '_settings'),
    );
    expect(settings.index.number_of_shards).toBe('8');
  });
});
